#include "app/tools/data/hep_events.h"

#include <algorithm>

#include "io/core/random.h"

namespace stoker {
namespace {

// A spot whose height falls with the distance, cut off where little is left. No function of libm:
// they differ from machine to machine.
void add_spot(std::span<float> plane, int64_t size, double x, double y, double radius,
              double height) {
  const auto reach = static_cast<int64_t>(4 * radius) + 1;
  const auto column = static_cast<int64_t>(x), row = static_cast<int64_t>(y);
  for (int64_t i = std::max<int64_t>(0, row - reach); i < std::min(size, row + reach + 1); ++i) {
    for (int64_t k = column - reach; k <= column + reach; ++k) {
      const double dx = static_cast<double>(k) - x, dy = static_cast<double>(i) - y;
      const double near = 1 + (dx * dx + dy * dy) / (radius * radius);
      const int64_t wrapped = (k % size + size) % size;  // the detector is round
      plane[static_cast<size_t>(i * size + wrapped)] += static_cast<float>(height / (near * near));
    }
  }
}

}  // namespace

int64_t hep_label(uint64_t seed, int64_t index) {
  return static_cast<int64_t>(mix(seed, static_cast<uint64_t>(index), 1) % 2);
}

void fill_hep_event(std::span<float> planes, int64_t size, int64_t label, uint64_t seed) {
  std::ranges::fill(planes, 0.0f);
  Random random(seed);
  const auto pixels = static_cast<size_t>(size * size);
  const double side = static_cast<double>(size);
  const auto jets = 2 + random.below(3) + (label == 1 ? 1 + random.below(3) : 0);
  for (uint64_t jet = 0; jet < jets; ++jet) {
    const double x = random.uniform(0, side), y = random.uniform(0.1 * side, 0.9 * side);
    const double radius = std::max(0.75, random.uniform(0.008, 0.02) * side);
    const double energy = random.uniform(0.2, 1.0) * (label == 1 ? 1.2 : 1.0);
    const double electromagnetic = random.uniform(0.3, 0.7);
    add_spot(planes.first(pixels), size, x, y, radius, energy * electromagnetic);
    add_spot(planes.subspan(pixels, pixels), size, x, y, 1.5 * radius,
             energy * (1 - electromagnetic));
    add_spot(planes.subspan(2 * pixels, pixels), size, x, y, radius, random.uniform(0.5, 1));
  }
  for (uint64_t hits = pixels / 100; hits > 0; --hits) {
    planes[random.below(3 * pixels)] += static_cast<float>(random.uniform(0, 0.1));
  }
}

}  // namespace stoker
