#include "io/decoder/decoder.h"

#include <cstring>

#include "io/decoder/frame.h"

namespace stoker {

template <>
Registry<Decoder>& Registry<Decoder>::global() {
  static Registry<Decoder> registry;
  return registry;
}

size_t SampleSpec::used(const uint8_t* place) const {
  if (frame == 0) return bytes();
  FrameHeader header;
  std::memcpy(&header, place, sizeof header);
  return kFrameHeader + header.bytes;
}

}  // namespace stoker
