#pragma once

#include <cstddef>
#include <cstdint>

#include "io/core/system/memory.h"
#include "io/decoder/pixel_rows.h"
#include "io/jpeg/jpeg_frame.h"
#include "io/jpeg/rgb_kernels.h"

namespace stoker {

// Rows of a decoded JPEG image in RGB, upsampled and converted one at a time: byte for byte what
// libjpeg-turbo makes (triangle filter, JCS_RGB). Only columns [first_column, first_column +
// columns) are made; their neighbours' samples must be in the planes. Rows may be skipped.
//
// Only for processors with AVX2, and images at least 16 pixels wide. One thread at a time. Borrows
// the planes and `scratch`, which it resizes to a few rows; both must outlive it. One byte before
// each chroma plane and kPlaneSlack bytes behind each plane's last row must be readable (any
// value).
class RgbRows final : public PixelRows {
 public:
  static constexpr size_t kPlaneSlack = 32;

  // At least one column; those beyond the image's width are left out.
  RgbRows(const RgbKernels& kernels, const JpegPlanes& planes, int64_t first_column,
          int64_t columns, Buffer& scratch);
  // Contents outside of the columns are unspecified.
  const uint8_t* row(int64_t y) override;

 private:
  struct ChromaLine {
    int16_t* values = nullptr;
    int64_t row = -1;  // of the planes; -1: none yet
  };
  // A row of chroma, filtered horizontally; made where it is not the one from before.
  const int16_t* chroma_line(int64_t row);

  const RgbKernels kernels_;
  const JpegPlanes& planes_;
  size_t first_group_;  // of 32 pixels
  size_t end_group_;
  ChromaLine lines_[2];  // row r in r % 2
  uint8_t* rgb_;
};

}  // namespace stoker
