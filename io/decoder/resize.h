#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/decoder/resample.h"

namespace stoker {

// Rows of interleaved 8-bit RGB. 16 bytes behind the last pixel must be readable (any value): the
// vector code loads more than it uses.
struct PixelView {
  static constexpr size_t kSlack = 16;
  const uint8_t* data = nullptr;
  int64_t width = 0;
  int64_t height = 0;
  size_t stride() const { return static_cast<size_t>(width) * 3; }
};

// Part of an image in pixels; fractions where the image was decoded at reduced scale.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

// What part of the image fills the output, mirrored how.
struct Geometry {
  Box crop;
  int64_t width = 0;  // of the output
  int64_t height = 0;
  bool flip_x = false;
  bool flip_y = false;
};

// Crop, mirror and resize in one pass over the rows, with filters of resample.h. One thread at a
// time; the memory of the last call is used again. The result is a pure function of the arguments,
// the same on every processor. Nothing outside of the crop is read: the image ends there.
class Resizer {
 public:
  explicit Resizer(ResizeMethod method, Resampling resampling = best_resampling());

  // Writes geometry.height rows of geometry.width pixels without padding.
  void resize(const PixelView& image, const Geometry& geometry, uint8_t* out);

 private:
  const uint16_t* line(const PixelView& image, int64_t row);

  ResizeMethod method_;
  Resampling resampling_;
  Filter row_filter_;
  Columns columns_;
  std::vector<uint16_t> lines_;  // the last rows that were resized horizontally, row r at r % taps
  std::vector<const uint16_t*> window_;
  int64_t next_row_ = 0;
};

}  // namespace stoker
