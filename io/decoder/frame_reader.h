#pragma once

#include <cstdint>
#include <memory>

#include "io/core/memory.h"
#include "io/core/frame_header.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/resize.h"

namespace stoker {

// A frame -> the sample that the loader would have made, bit for bit, by the same resizer and
// codec. What a device without kernels of its own does with frames. One thread at a time; keeps its
// memory.
class FrameReader {
 public:
  // Writes size x size RGB pixels. Throws BadSample: encoded data that turn out to be damaged.
  void read(const uint8_t* frame, int64_t size, uint8_t* out);
  // The pixels of an encoded frame at 1/header.reduction.
  PixelView decode(const FrameHeader& header, const uint8_t* encoded);

 private:
  JpegCodec codec_;
  Resizer bilinear_{ResizeMethod::bilinear};
  Resizer antialias_{ResizeMethod::antialias};
  Buffer rgb_;
  Buffer turned_;
};

}  // namespace stoker
