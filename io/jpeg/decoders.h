#pragma once

#include <memory>
#include <span>

#include "io/core/system/memory.h"
#include "io/decoder/augment.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/pixels.h"

namespace stoker {

// Decodes the JPEG files that nearly all are (baseline, 8 bits, gray or YCbCr of 4:4:4, 4:2:2 or
// 4:2:0, one scan, at least 16 pixels wide) to the pixels that libjpeg-turbo makes of them with its
// accurate inverse DCT and fancy upsampling, byte for byte, or with its reduced transforms, though
// not of 4:2:2.
//
// It vouches only for files in which it sees nothing unusual. For all others, and for every kind of
// damage, it gives up and leaves the verdict to libjpeg-turbo. What it does not look at is the
// scan's data behind the last block that is needed: it only knows that no marker but restarts in
// their order comes before the end-of-image marker. So damage there is not noticed where a training
// crop ends above it; whatever needs the whole image notices all of it.
//
// One thread at a time; keeps its memory and the tables of the last image.
class BaselineDecoder {
 public:
  // Null where the processor lacks AVX2 or BMI2, whose vector code this is.
  static std::unique_ptr<BaselineDecoder> create();
  virtual ~BaselineDecoder() = default;

  // `header` and `segments`: as read_jpeg_header gave them for `file`. `reduction`: 1, or 2, 4 or 8
  // for the image at a half, a quarter or an eighth. The rows are those of the whole image, valid
  // until the next call; what is outside of `needed`, which is in pixels of the image at its own
  // size, is unspecified. Null: it gives up. Never throws but std::bad_alloc.
  virtual PixelRows* decode(Bytes file, const JpegHeader& header,
                            std::span<const JpegSegment> segments, const Rect& needed,
                            int64_t reduction = 1) = 0;
};

// What BaselineDecoder is for baseline files, this is for progressive ones: the same components and
// sizes, the same pixels, and the same rule. It vouches only for files in which it sees nothing
// unusual: scans that go on from one another and leave no bit out, between them nothing but Huffman
// tables and restart intervals, each ending where its data does. It does not look at what lies in a
// scan behind the last block that is needed.
//
// One thread at a time; keeps its memory: all coefficients of the largest image, and the bytes of
// its scans.
class ProgressiveDecoder {
 public:
  // Null where the processor lacks AVX2, BMI2 or POPCNT.
  static std::unique_ptr<ProgressiveDecoder> create();
  virtual ~ProgressiveDecoder() = default;

  // As BaselineDecoder::decode().
  virtual PixelRows* decode(Bytes file, const JpegHeader& header,
                            std::span<const JpegSegment> segments, const Rect& needed,
                            int64_t reduction = 1) = 0;
};

}  // namespace stoker
