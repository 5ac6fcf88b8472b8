#include "io/decoder/grey.h"

#include <algorithm>

namespace stoker {

const uint16_t* GreyResizer::line(const GreyView& image, int64_t row) {
  const int64_t size = across_.axis.size;
  const auto place = static_cast<size_t>(row % down_.taps);
  uint16_t* const line = lines_.data() + place * static_cast<size_t>(size);
  if (rows_[place] == row) return line;
  rows_[place] = row;
  const uint8_t* const in = image.data + row * image.width;
  const auto one = static_cast<uint32_t>(across_.one);
  for (int64_t x = 0; x < size; ++x) {
    const uint8_t* const first = in + across_.first[static_cast<size_t>(x)];
    const uint16_t* const weights = across_.weights_of(x);
    uint32_t sum = 0;
    for (int tap = 0; tap < across_.taps; ++tap) sum += first[tap] * uint32_t{weights[tap]};
    line[x] = static_cast<uint16_t>(uint64_t{sum} * 256 / one);
  }
  return line;
}

void GreyResizer::resize(const GreyView& image, const Geometry& geometry, uint8_t* out) {
  constexpr int32_t kOne = 65536;
  across_.assign(
      {method_, image.width, geometry.crop.x, geometry.crop.width, geometry.width, geometry.flip_x},
      kOne);
  down_.assign({method_, image.height, geometry.crop.y, geometry.crop.height, geometry.height,
                geometry.flip_y},
               kOne);
  const auto taps = static_cast<size_t>(down_.taps);
  const auto size = static_cast<size_t>(geometry.width);
  lines_.resize(taps * size);
  rows_.assign(taps, -1);
  std::vector<const uint16_t*> window(taps);
  for (int64_t y = 0; y < geometry.height; ++y, out += size) {
    const int64_t first = down_.first[static_cast<size_t>(y)];
    const uint16_t* const weights = down_.weights_of(y);
    for (size_t tap = 0; tap < taps; ++tap) {
      window[tap] = line(image, first + static_cast<int64_t>(tap));
    }
    for (size_t x = 0; x < size; ++x) {
      uint64_t sum = 1u << 23;
      for (size_t tap = 0; tap < taps; ++tap) sum += uint64_t{window[tap][x]} * weights[tap];
      out[x] = static_cast<uint8_t>(std::min<uint64_t>(sum >> 24, 255));
    }
  }
}

}  // namespace stoker
