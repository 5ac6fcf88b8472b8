#pragma once

#include <string>
#include <vector>

#include "io/core/crc32c.h"
#include "io/core/wire/protobuf.h"

namespace stoker {

// A record around these data.
inline std::string record(const std::string& data) {
  const auto head = record_head(data.size());
  const auto tail =
      record_tail(crc32c({reinterpret_cast<const uint8_t*>(data.data()), data.size()}));
  return std::string(head.begin(), head.end()) + data + std::string(tail.begin(), tail.end());
}

// Features of an Example as protobuf writes them, numbers packed.
inline std::string bytes_list(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += wire_bytes(1, value);
  return wire_bytes(1, list);
}
inline std::string int64_list(const std::vector<int64_t>& values) {
  std::string list;
  for (const int64_t value : values) {
    list += wire_number(1, WireType::varint, static_cast<uint64_t>(value)).substr(1);
  }
  return wire_bytes(3, wire_bytes(1, list));
}
// An entry of the map.
inline std::string feature(const std::string& name, const std::string& value) {
  return wire_bytes(1, wire_bytes(1, name) + wire_bytes(2, value));
}
// The message around entries.
inline std::string example(const std::string& entries) { return wire_bytes(1, entries); }

// One as TensorFlow's ImageNet has it, without names.
inline std::string labelled(const std::string& image, int64_t label) {
  return record(example(feature("image/class/label", int64_list({label})) +
                        feature("image/encoded", bytes_list({image}))));
}

}  // namespace stoker
