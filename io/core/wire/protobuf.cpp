#include "io/core/wire/protobuf.h"

#include <algorithm>
#include <cstddef>

#include "io/core/crc32c.h"
#include "io/core/error.h"

namespace stoker {
namespace {

// As deep as the protobuf library goes.
constexpr size_t kMostGroups = 100;

[[noreturn]] void fail_message(const char* what) {
  throw BadSample(BadReason::corrupt, std::string("it is no protocol buffer: ") + what);
}

std::string wire_tag(uint32_t number, WireType type) {
  return wire_varint(uint64_t{number} << 3 | static_cast<uint64_t>(type));
}

uint64_t little_endian(Bytes bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

}  // namespace

std::optional<WireField> WireReader::next() {
  while (!rest_.empty()) {
    const WireField found = field();
    if (found.type == WireType::group) {
      if (groups_.size() == kMostGroups) fail_message("groups too deep");
      groups_.push_back(found.number);
    } else if (found.type == WireType::end_of_group) {
      if (groups_.empty() || groups_.back() != found.number) fail_message("the end of no group");
      groups_.pop_back();
    } else if (groups_.empty()) {
      return found;
    }
  }
  if (!groups_.empty()) fail_message("a group without an end");
  return std::nullopt;
}

std::optional<uint64_t> WireReader::next_varint() {
  if (rest_.empty()) return std::nullopt;
  return varint();
}

WireField WireReader::field() {
  const uint64_t tag = varint();
  if (tag > UINT32_MAX || tag >> 3 == 0) fail_message("a field of no number");
  WireField result{static_cast<uint32_t>(tag >> 3), static_cast<WireType>(tag & 7)};
  switch (result.type) {
    case WireType::varint:
      result.value = varint();
      break;
    case WireType::fixed64:
      result.value = little_endian(take(8));
      break;
    case WireType::fixed32:
      result.value = little_endian(take(4));
      break;
    case WireType::bytes:
      result.bytes = take(varint());
      break;
    case WireType::group:
    case WireType::end_of_group:
      break;
    default:
      fail_message("a field of an unknown form");
  }
  return result;
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const uint8_t byte = take(1)[0];
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  fail_message("a number of more than 10 bytes");
}

Bytes WireReader::take(uint64_t count) {
  if (count > rest_.size()) fail_message("it ends too early");
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::string wire_varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  bytes += static_cast<char>(value);
  return bytes;
}

std::string wire_number(uint32_t number, WireType type, uint64_t value) {
  std::string field = wire_tag(number, type);
  if (type == WireType::varint) return field + wire_varint(value);
  const int bytes = type == WireType::fixed64 ? 8 : 4;
  for (int i = 0; i < bytes; ++i)
    field += static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
  return field;
}

std::string wire_bytes_head(uint32_t number, uint64_t bytes) {
  return wire_tag(number, WireType::bytes) + wire_varint(bytes);
}

std::string wire_bytes(uint32_t number, std::string_view bytes) {
  return wire_bytes_head(number, bytes.size()).append(bytes);
}

namespace {

void put_little_endian(uint8_t* to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

constexpr size_t kLength = kRecordHead - kRecordTail;

}  // namespace

std::array<uint8_t, kRecordTail> record_tail(uint32_t data_crc) {
  std::array<uint8_t, kRecordTail> tail{};
  put_little_endian(tail.data(), masked_crc32c(data_crc), tail.size());
  return tail;
}

std::array<uint8_t, kRecordHead> record_head(uint64_t length) {
  std::array<uint8_t, kRecordHead> head{};
  put_little_endian(head.data(), length, kLength);
  std::ranges::copy(record_tail(crc32c({head.data(), kLength})), head.begin() + kLength);
  return head;
}

std::optional<uint64_t> record_length(Bytes head) {
  if (!record_fits(head.first(kRecordHead))) return std::nullopt;
  uint64_t length = 0;
  for (size_t i = 0; i < kLength; ++i) length |= uint64_t{head[i]} << (8 * i);
  return length;
}

bool record_fits(Bytes data_and_tail) {
  const Bytes data = data_and_tail.first(data_and_tail.size() - kRecordTail);
  return std::ranges::equal(record_tail(crc32c(data)), data_and_tail.last(kRecordTail));
}

}  // namespace stoker
