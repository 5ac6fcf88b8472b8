#pragma once

#include <cstdint>

#include "io/core/system/memory.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/transform.h"

namespace stoker {

// A frame -> the sample that the loader would have made, bit for bit, by the same resizer and
// codec. For devices without kernels of their own. One thread at a time; keeps its memory from
// frame to frame.
//
// A frame lies where the loader put it: its header (FrameHeader), then what the header says. It is
// not changed, and not referred to after the call.
class FrameReader {
 public:
  // Samples are size x size RGB pixels.
  explicit FrameReader(int64_t size);
  // Writes one sample. Throws BadSample: encoded data that turn out to be damaged.
  void read(const uint8_t* frame, uint8_t* out);

 private:
  JpegCodec codec_;
  Transform bilinear_;
  Transform antialias_;
  Buffer rgb_;
};

}  // namespace stoker
