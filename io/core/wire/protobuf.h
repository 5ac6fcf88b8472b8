#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// Protocol buffers field by field, for who needs a few messages of them and no schema.

// The form of a field's value.
enum class WireType : uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group = 3,
  end_of_group = 4,
  fixed32 = 5
};

// A field of a message. A value; it does not own the bytes.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;  // of a varint, fixed64 or fixed32
  Bytes bytes = {};    // of type bytes
};

// Reads a message's fields in their order, each as its own type says; groups are passed over. The
// message must outlive the reader and the fields. One thread at a time. BadSample(corrupt) if the
// bytes are not a message; every length was checked against the end.
class WireReader {
 public:
  explicit WireReader(Bytes message) : rest_(message) {}
  // Nothing: the end.
  std::optional<WireField> next();
  // For lists of numbers without tags ("packed"): the next one; nothing at the end.
  std::optional<uint64_t> next_varint();
  // The next bytes, whatever they are, for formats that are made of the same numbers.
  Bytes take(uint64_t count);

 private:
  uint64_t varint();
  WireField field();

  Bytes rest_;
  std::vector<uint32_t> groups_;  // numbers of the open ones
};

// Fields as they are written. Pure; any thread.
std::string wire_varint(uint64_t value);
std::string wire_number(uint32_t number, WireType type, uint64_t value);
std::string wire_bytes(uint32_t number, std::string_view bytes);
// What stands in front of a field's value that has `bytes` bytes.
std::string wire_bytes_head(uint32_t number, uint64_t bytes);

}  // namespace stoker
