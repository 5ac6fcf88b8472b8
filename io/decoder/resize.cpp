#include "io/decoder/resize.h"

#include <algorithm>

#include "io/decoder/normalise_pixels.h"

namespace stoker {

Resizer::Resizer(ResizeMethod method, Resampling resampling)
    : method_(method), resampling_(resampling) {}

// Calls vertical(row of the output, row of the filter) with the lines in window_.
template <class F>
void Resizer::for_each_row(PixelRows& image, const Geometry& geometry, F&& vertical) {
  const auto& [crop, width, height, flip_x, flip_y] = geometry;
  columns_.assign({method_, image.width(), crop.x, crop.width, width, flip_x}, resampling_.wide);
  row_filter_.assign({method_, image.height(), crop.y, crop.height, height, false}, 65536);
  const int64_t taps = row_filter_.taps;
  lines_.resize(static_cast<size_t>(taps * columns_.groups));
  window_.resize(static_cast<size_t>(taps));
  for (int64_t t = 0; t < taps; ++t) {
    window_[static_cast<size_t>(t)] = lines_[static_cast<size_t>(t * columns_.groups)].values;
  }
  int64_t begin = row_filter_.first[0], end = begin;  // the image's rows in window_
  for (int64_t y = 0; y < height; ++y) {
    const int64_t first = row_filter_.first[static_cast<size_t>(y)];
    const int64_t passed = first - begin;
    if (passed > 0 && passed < taps) {
      std::rotate(window_.begin(), window_.begin() + passed, window_.end());
    }
    for (end = std::max(first, end), begin = first; end < first + taps; ++end) {
      resampling_.horizontal(image.row(end), columns_, window_[static_cast<size_t>(end - first)]);
    }
    vertical(static_cast<size_t>(flip_y ? height - 1 - y : y), row_filter_.weights_of(y));
  }
}

void Resizer::resize(PixelRows& image, const Geometry& geometry, uint8_t* out, Store store) {
  const size_t stride = static_cast<size_t>(geometry.width) * 3;
  for_each_row(image, geometry, [&](size_t row, const uint16_t* weights) {
    resampling_.vertical(window_.data(), weights, row_filter_.taps, columns_, out + row * stride,
                         store);
  });
  if (store == Store::streamed) end_streams();
}

void Resizer::resize(PixelRows& image, const Geometry& geometry, float* planes) {
  const auto width = static_cast<size_t>(geometry.width);
  const int64_t plane = geometry.width * geometry.height;
  row_.resize(3 * width);
  for_each_row(image, geometry, [&](size_t row, const uint16_t* weights) {
    resampling_.vertical(window_.data(), weights, row_filter_.taps, columns_, row_.data(),
                         Store::cached);
    normalise_pixels(row_.data(), geometry.width, plane, planes + row * width, Store::streamed);
  });
  end_streams();
}

void normalise_rows(PixelRows& image, float* planes) {
  const int64_t width = image.width(), plane = width * image.height();
  for (int64_t y = 0; y < image.height(); ++y) {
    normalise_pixels(image.row(y), width, plane, planes + y * width, Store::streamed);
  }
  end_streams();
}

}  // namespace stoker
