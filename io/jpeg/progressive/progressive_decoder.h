#pragma once

#include <memory>
#include <span>

#include "io/core/system/memory.h"
#include "io/decoder/augment.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/pixel_rows.h"

namespace stoker {

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
