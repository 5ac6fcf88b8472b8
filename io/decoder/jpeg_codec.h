#pragma once

#include <cstdint>
#include <memory>

#include "io/core/memory.h"
#include "io/decoder/jpeg_header.h"

namespace stoker {

// libjpeg-turbo: encoded bytes -> rows of RGB without padding. One thread at a time; keeps its
// memory.
//
// Warnings are errors: where libjpeg would go on with grey areas, the sample is bad. The pixels are
// a function of the file alone: libjpeg by itself would decode a file without tables with those of
// the file before.
class JpegCodec {
 public:
  // Throws std::bad_alloc where libjpeg-turbo has no memory for a handle.
  JpegCodec();
  // `width` x `height`: those of the header, or reduced to 1/2, 1/4 or 1/8, rounded up. `rgb`: room
  // for that many pixels, owned by the caller. Throws BadSample: truncated, corrupt or unsupported.
  void decode(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height, uint8_t* rgb);

 private:
  void open();
  void decompress(Bytes encoded, int64_t width, int64_t height, int format, uint8_t* out);

  std::unique_ptr<void, int (*)(void*)> handle_;
  Buffer cmyk_;
};

}  // namespace stoker
