#include "io/core/wire/tfrecord.h"

#include <algorithm>
#include <cstddef>

#include "io/core/crc32c.h"

namespace stoker {
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
