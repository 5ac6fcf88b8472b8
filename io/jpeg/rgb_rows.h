#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/core/system/memory.h"
#include "io/decoder/pixels.h"
#include "io/jpeg/jpeg_frame.h"

namespace stoker {

// The inner loops of RgbRows, over groups of 32 pixels. They read and write whole groups, so memory
// must reach to the end of the last one.
constexpr size_t kGroupPixels = 32;
constexpr size_t kGroupValues = 4 * kGroupPixels;  // 16-bit values of a chroma line per group

// One row of both chroma planes. A value.
struct ChromaRow {
  const uint8_t* cb;
  const uint8_t* cr;
  // Samples that count; the last one is repeated.
  size_t width;
};

// The loops for one kind of processor. Pure functions; any thread.
struct RgbKernels {
  // A chroma line: a row of samples filtered horizontally, as pairs (Cb, Cr) in the order in which
  // they are converted, in two forms. `far` is a quarter of the weight, `near` three quarters with
  // what rounds and centres the sum: near + far is 16 times (sample - 128), and a fraction. `line`
  // points to group 0 and is aligned to 64 bytes.
  void (*filter_chroma)(ChromaSampling sampling, const ChromaRow& row, size_t first_group,
                        size_t end_group, int16_t* line);
  // Makes RGB of a row of luma and two chroma lines: adds the near form of one and the far form of
  // the other (or of the same).
  void (*ycc_to_rgb)(const uint8_t* luma, const int16_t* near, const int16_t* far,
                     size_t first_group, size_t end_group, uint8_t* rgb);
  // The same for an image without chroma: R, G and B are the luma sample.
  void (*gray_to_rgb)(const uint8_t* luma, size_t first_group, size_t end_group, uint8_t* rgb);
};

// The variants, with equal results; each has lines of its own kind.
RgbKernels avx2_rgb_kernels();
RgbKernels avx512_rgb_kernels();  // avx512.h
// Those that this processor can run, the fastest last; it has AVX2.
std::vector<RgbKernels> usable_rgb_kernels();
// The last of these: what the decoders use.
RgbKernels best_rgb_kernels();

// What is added to 16 times a sample: its centre, and before that what the filters round with
// (jdsample.c: 8 and 7 of 16 in both directions, 1 and 2 of 4 in one; nothing without a filter).
constexpr int kChromaCenter = -16 * 128;
struct ChromaRounding {
  int even, odd;
};
constexpr ChromaRounding chroma_rounding(ChromaSampling sampling) {
  if (sampling == ChromaSampling::s420) return {8, 7};
  return sampling == ChromaSampling::s422 ? ChromaRounding{4, 8} : ChromaRounding{0, 0};
}

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
