#pragma once

#include <array>
#include <cstdint>

#include "io/core/memory.h"
#include "io/decoder/augment.h"
#include "io/decoder/jpeg/jpeg_frame.h"
#include "io/decoder/jpeg/scan_decoder.h"

namespace stoker {

// Memory for the samples of one image, as RgbRows reads them. One thread at a time; keeps its
// memory.
class SamplePlanes {
 public:
  // Narrower images are upsampled by other rules.
  static constexpr int64_t kMinWidth = 16;
  // The MCUs whose samples the pixels of `needed` depend on.
  static McuRect mcus_of(const Rect& needed, const JpegFrame& frame);

  // Contents are unspecified. Valid until the next call. Throws std::bad_alloc.
  const JpegPlanes& assign(const JpegFrame& frame) {
    return assign(frame, frame.sampling, {8, 8, 8}, 1);
  }
  // For an image decoded at 1/reduction, whose blocks are so many samples wide and high.
  // `sampling`: of what results.
  const JpegPlanes& assign(const JpegFrame& frame, ChromaSampling sampling,
                           const std::array<size_t, 3>& sides, int64_t reduction);

 private:
  JpegPlanes planes_;
  std::array<Buffer, 3> memory_;
};

}  // namespace stoker
