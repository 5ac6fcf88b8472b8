#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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

// Another tier, whose reads are counted by object.
class CountingStorage final : public Storage {
 public:
  explicit CountingStorage(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    {
      const std::lock_guard lock(mutex_);
      ++reads_[key];
    }
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }
  // Since the last call.
  std::map<std::string, int> reads() const {
    const std::lock_guard lock(mutex_);
    return std::exchange(reads_, {});
  }

 private:
  const std::unique_ptr<Storage> inner_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, int> reads_;
};

// "a=3 b/c=10": keys and sizes of a listing.
inline std::string listing(const Storage& storage, const std::string& prefix = "") {
  std::string text;
  for (const ObjectInfo& object : storage.list(prefix)) {
    text += (text.empty() ? "" : " ") + object.key + "=" + std::to_string(object.bytes);
  }
  return text;
}

}  // namespace stoker
