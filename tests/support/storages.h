#pragma once

#include <memory>
#include <string>

#include "io/storage/storage.h"

namespace stoker {

// A tier from its YAML: make_storage("{type: memory}").
inline std::unique_ptr<Storage> make_storage(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Storage>::global().parse(Section(node, "", "storage", nullptr)).create({});
}

inline std::unique_ptr<Storage> posix_storage(const std::string& root) {
  return make_storage("{type: posix, root: " + root + "}");
}

inline void put(Storage& storage, const std::string& key, const std::string& text) {
  const std::unique_ptr<ObjectWriter> writer = storage.create(key);
  writer->append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  writer->commit();
}

inline std::string get(const Storage& storage, const std::string& key, Range range = {}) {
  Buffer buffer;
  storage.read(key, buffer, range);
  return {buffer.bytes().begin(), buffer.bytes().end()};
}

// "a=3 b/c=10": keys and sizes of a listing.
inline std::string listing(const Storage& storage, const std::string& prefix = "") {
  std::string text;
  for (const ObjectInfo& object : storage.list(prefix)) {
    text += (text.empty() ? "" : " ") + object.key + "=" + std::to_string(object.bytes);
  }
  return text;
}

}  // namespace stoker
