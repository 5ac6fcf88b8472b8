#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/decoder/pixels.h"
#include "io/decoder/resample/resample.h"

namespace stoker {

// Part of an image in pixels, the corner at the top left; fractions where the image was decoded at
// a reduced size. A value. It lies within the image.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// Which part of the image fills the output, and how it is mirrored after that. A value.
struct Geometry {
  Box crop;
  // At least 1 x 1.
  int64_t width = 0;  // of the output
  int64_t height = 0;
  bool flip_x = false;
  bool flip_y = false;
};

// Crop, mirror and resize in one pass over the rows, with the filters of resample.h. One thread at
// a time; the memory of the last call is used again. The result is a pure function of the
// arguments, the same on every processor. Nothing outside of the crop is read: for the filter the
// image ends there.
class Resizer {
 public:
  // `resampling`: the variant for this processor; another one only to compare them.
  explicit Resizer(ResizeMethod method, Resampling resampling = best_resampling());

  // Writes geometry.height rows of geometry.width pixels without padding into `out`, which belongs
  // to the caller. Asks for the image's rows from the top to the bottom, each at most once.
  void resize(PixelRows& image, const Geometry& geometry, uint8_t* out,
              Store store = Store::cached);
  // The same pixels, normalised (pixels.h): three planes of floats without padding, R, G and B.
  // They are streamed where the alignment allows it, and visible when the call returns.
  void resize(PixelRows& image, const Geometry& geometry, float* planes);

 private:
  // Makes the filters and all lines; the callers make rows of the lines in window_.
  template <class F>
  void for_each_row(PixelRows& image, const Geometry& geometry, F&& vertical);

  ResizeMethod method_;
  Resampling resampling_;
  Filter row_filter_;
  Columns columns_;
  std::vector<LineGroup> lines_;
  // The lines under the filter, from the top.
  std::vector<uint16_t*> window_;
  std::vector<uint8_t> row_;  // of pixels that are normalised at once
};

// All pixels of an image as they are, normalised: three planes without padding. They are streamed.
// Any thread that may use the image.
void normalise_rows(PixelRows& image, float* planes);

}  // namespace stoker
