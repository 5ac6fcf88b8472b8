#include "io/core/sample_spec.h"

#include <cstring>

#include "io/core/frame_header.h"

namespace stoker {

size_t SampleSpec::used(const uint8_t* place) const {
  if (frame == 0) return bytes();
  FrameHeader header;
  std::memcpy(&header, place, sizeof header);
  return kFrameHeader + header.bytes;
}

size_t used_bytes(const uint8_t* places, int64_t count, const SampleSpec& spec) {
  const auto samples = static_cast<size_t>(count);
  if (spec.frame == 0) return samples * spec.bytes();
  size_t bytes = 0;
  for (size_t i = 0; i < samples; ++i) bytes += spec.used(places + i * spec.bytes());
  return bytes;
}

}  // namespace stoker
