#include "io/decoder/resize.h"

#include <algorithm>

namespace stoker {

Resizer::Resizer(ResizeMethod method, Resampling resampling)
    : method_(method), resampling_(resampling) {}

void Resizer::resize(const PixelView& image, const Geometry& geometry, uint8_t* out) {
  const auto& [crop, width, height, flip_x, flip_y] = geometry;
  columns_.assign({method_, image.width, crop.x, crop.width, width, flip_x});
  row_filter_.assign({method_, image.height, crop.y, crop.height, height, false});
  const int taps = row_filter_.taps;
  lines_.resize(static_cast<size_t>(taps) * columns_.line_size());
  window_.resize(static_cast<size_t>(taps));
  next_row_ = 0;
  const size_t out_stride = static_cast<size_t>(width) * 3;
  for (int64_t y = 0; y < height; ++y) {
    const int64_t first = row_filter_.first[static_cast<size_t>(y)];
    for (int t = 0; t < taps; ++t) window_[static_cast<size_t>(t)] = line(image, first + t);
    const auto out_row = static_cast<size_t>(flip_y ? height - 1 - y : y);
    resampling_.vertical(window_.data(), row_filter_.weights_of(y), taps, width,
                         out + out_row * out_stride);
  }
}

const uint16_t* Resizer::line(const PixelView& image, int64_t row) {
  uint16_t* line =
      lines_.data() + static_cast<size_t>(row % row_filter_.taps) * columns_.line_size();
  if (row >= next_row_) {
    resampling_.horizontal(image.data + static_cast<size_t>(row) * image.stride(), columns_, line);
    next_row_ = row + 1;
  }
  return line;
}

}  // namespace stoker
