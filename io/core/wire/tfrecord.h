#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "io/core/system/memory.h"

namespace stoker {

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
