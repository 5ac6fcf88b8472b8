#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "io/core/system/memory.h"
#include "io/decoder/augment.h"
#include "io/jpeg/jpeg_frame.h"
#include "io/jpeg/rgb_rows.h"
#include "io/jpeg/scan_decoder.h"

namespace stoker {

// Memory for the samples of one image, in its own size or in 1/2, 1/4 or 1/8 of it (as
// libjpeg-turbo reduces it), and the rows made of them. One thread at a time; keeps its memory.
class SamplePlanes {
 public:
  // The MCUs whose samples the pixels of `needed` depend on.
  static McuRect mcus_of(const Rect& needed, const JpegFrame& frame);

  // For an image at 1/reduction; the contents are unspecified. Valid until the next call. Null: its
  // samples become pixels by rules that are not known here. Throws std::bad_alloc.
  const JpegPlanes* assign(const JpegFrame& frame, int64_t reduction);
  // The rows of the image whose samples are there now, of `needed` at least, which is in pixels of
  // the image at its own size. Valid until the next call of assign(), or of this.
  PixelRows* rows(const Rect& needed);

 private:
  const RgbKernels kernels_ = best_rgb_kernels();
  JpegPlanes planes_;
  int64_t reduction_ = 1;
  std::array<Buffer, 3> memory_;
  std::optional<RgbRows> rows_;
  Buffer scratch_;
};

}  // namespace stoker
