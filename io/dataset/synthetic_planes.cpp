#include "io/dataset/synthetic_planes.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "io/core/random.h"

namespace stoker {
namespace {

struct Rectangle {
  int64_t top, left, rows, columns;
};

// A quarter of the sides, anywhere.
Rectangle somewhere(const SyntheticPlanesOptions& options, Random& random) {
  const int64_t rows = std::max<int64_t>(options.height / 4, 1);
  const int64_t columns = std::max<int64_t>(options.width / 4, 1);
  const auto below = [&random](int64_t end) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(end)));
  };
  return {below(options.height - rows + 1), below(options.width - columns + 1), rows, columns};
}

// Calls back with each row of the rectangle in a plane.
template <class F>
void for_each_row(const Rectangle& in, std::span<float> plane, int64_t width, const F& call) {
  for (int64_t row = in.top; row < in.top + in.rows; ++row) {
    call(
        plane.subspan(static_cast<size_t>(row * width + in.left), static_cast<size_t>(in.columns)));
  }
}

}  // namespace

std::vector<uint8_t> synthetic_planes(const SyntheticPlanesOptions& options, int64_t classes,
                                      int64_t label, uint64_t seed) {
  const auto pixels = static_cast<size_t>(options.height * options.width);
  const auto channels = static_cast<size_t>(options.channels);
  std::vector<float> values((channels + (options.target ? 1 : 0)) * pixels);
  const std::span all(values);
  Random random(seed);
  for (float& value : all.first(channels * pixels)) {
    value = static_cast<float>(random.next() >> 40) * 0x1p-24f;
  }
  const auto mark = [&](int64_t of, const Rectangle& in) {
    const std::span plane = all.subspan(static_cast<size_t>(of) % channels * pixels, pixels);
    for_each_row(in, plane, options.width, [](std::span<float> row) {
      for (float& value : row) value += 0.5f;
    });
    if (!options.target) return;
    for_each_row(in, all.subspan(channels * pixels), options.width,
                 [of](std::span<float> row) { std::ranges::fill(row, static_cast<float>(of)); });
  };
  if (!options.target) {
    mark(label, {0, 0, options.height, options.width});
  } else {
    for (int64_t of = 1; of < classes; ++of) mark(of, somewhere(options, random));
  }
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace stoker
