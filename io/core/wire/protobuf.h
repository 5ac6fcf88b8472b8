#pragma once

#include <array>
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

// The frame of a record in TensorFlow's files: TFRecord, and TensorBoard's event files.
//
//   head   length of the data (u64, little-endian), masked CRC-32C of these 8 bytes
//   data
//   tail   masked CRC-32C of the data
//
// Masked: masked_crc32c(). Any thread.
inline constexpr uint64_t kRecordHead = 12;
inline constexpr uint64_t kRecordTail = 4;

std::array<uint8_t, kRecordHead> record_head(uint64_t length);
// data_crc: crc32c() of the data.
std::array<uint8_t, kRecordTail> record_tail(uint32_t data_crc);

// The length of the data, before anything else is known about them. It is empty where the checksum
// of the length does not fit. head: kRecordHead bytes.
std::optional<uint64_t> record_length(Bytes head);
// Whether the checksum in the tail fits the data. There must be at least kRecordTail bytes.
bool record_fits(Bytes data_and_tail);

}  // namespace stoker
