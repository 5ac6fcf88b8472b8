#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/decoder/resample/resample.h"
#include "io/decoder/resize.h"

namespace stoker {

// Pixels of one channel: rows without padding. Refers to them.
struct GreyView {
  const uint8_t* data = nullptr;
  int64_t width = 0;
  int64_t height = 0;
};

// Resizer's crop, mirror and resize for one channel, with the same filters; its levels differ from
// those of an equal grey image in colour by one at most, for nothing is rounded in between. One
// thread at a time; keeps its memory.
class GreyResizer {
 public:
  explicit GreyResizer(ResizeMethod method) : method_(method) {}
  // Writes geometry.height rows of geometry.width pixels without padding into `out`. Nothing
  // outside of the crop is read.
  void resize(const GreyView& image, const Geometry& geometry, uint8_t* out);

 private:
  // A row of the image, scaled to the output's width: level * 256.
  const uint16_t* line(const GreyView& image, int64_t row);

  ResizeMethod method_;
  Filter across_, down_;
  // Lines of the rows under the filter: row r in place r % taps.
  std::vector<uint16_t> lines_;
  std::vector<int64_t> rows_;
};

}  // namespace stoker
