#pragma once

#include <cstdint>
#include <memory>

#include "io/core/frame_header.h"
#include "io/core/memory.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/resize.h"

namespace stoker {

// A frame -> the sample that the loader would have made, bit for bit, by the same resizer and
// codec. For devices without kernels of their own. One thread at a time; keeps its memory from
// frame to frame.
class FrameReader {
 public:
  // Writes size x size RGB pixels. Throws BadSample: encoded data that turn out to be damaged.
  void read(const uint8_t* frame, int64_t size, uint8_t* out);
  // The pixels of an encoded frame at 1/header.reduction; valid until the next call. Throws
  // BadSample.
  PixelView decode(const FrameHeader& header, const uint8_t* encoded);

 private:
  JpegCodec codec_;
  Resizer bilinear_{ResizeMethod::bilinear};
  Resizer antialias_{ResizeMethod::antialias};
  Buffer rgb_;
  Buffer turned_;
};

}  // namespace stoker
