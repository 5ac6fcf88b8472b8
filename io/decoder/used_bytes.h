#pragma once

#include <cstddef>
#include <cstdint>

#include "io/decoder/decoder.h"

namespace stoker {

// The bytes that count in `count` places of a batch: pixels, or what is used of frames.
inline size_t used_bytes(const uint8_t* places, int64_t count, const SampleSpec& spec) {
  const auto samples = static_cast<size_t>(count);
  if (spec.frame == 0) return samples * spec.bytes();
  size_t bytes = 0;
  for (size_t i = 0; i < samples; ++i) bytes += spec.used(places + i * spec.bytes());
  return bytes;
}

}  // namespace stoker
