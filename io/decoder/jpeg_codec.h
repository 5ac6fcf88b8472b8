#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/core/system/memory.h"
#include "io/decoder/jpeg_header.h"

namespace stoker {

// libjpeg-turbo: encoded bytes -> rows of RGB without padding. One thread at a time; keeps its
// memory.
//
// With Tolerance::strict its warnings are errors: where libjpeg would go on with grey areas, the
// sample is bad. The pixels are a function of the file alone: libjpeg by itself would decode a file
// without tables with those of the file before.
class JpegCodec {
 public:
  // Throws std::bad_alloc where libjpeg-turbo has no memory for a handle.
  explicit JpegCodec(Tolerance tolerance = Tolerance::strict);
  // `width` x `height`: those of the header, or reduced to 1/2, 1/4 or 1/8, rounded up. `rgb`: room
  // for that many pixels, owned by the caller. Throws BadSample: truncated, corrupt or unsupported.
  // `header`: read with the same tolerance.
  void decode(Bytes encoded, const JpegHeader& header, int64_t width, int64_t height, uint8_t* rgb);
  // The first warning of the last decode(), in libjpeg's words, if decoding went on all the same.
  // Empty: no warning came.
  const std::string& warning() const { return warning_; }

 private:
  void open();
  void decompress(Bytes encoded, int64_t width, int64_t height, int format, uint8_t* out);
  // What libjpeg says of it; empty: nothing.
  std::string attempt(Bytes encoded, int64_t width, int64_t height, int format, uint8_t* out,
                      bool stop_on_warning);

  const Tolerance tolerance_;
  std::unique_ptr<void, int (*)(void*)> handle_;
  std::string warning_;
  Buffer cmyk_;
};

}  // namespace stoker
