#include "io/loader/largest_first.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace stoker {

LargestFirst::LargestFirst(const Dataset& dataset, Split split)
    : dataset_(dataset), split_(split) {}

uint32_t LargestFirst::bytes_of(int64_t sample) {
  uint32_t& bytes = bytes_[static_cast<size_t>(sample)];
  // A name is made with every answer: too much for each sample of each epoch.
  if (bytes == 0) {
    const uint64_t answer = dataset_.info(split_, sample).bytes;
    bytes = static_cast<uint32_t>(std::min<uint64_t>(answer, UINT32_MAX - 1) + 1);
  }
  return bytes;
}

std::vector<int32_t> LargestFirst::places(std::span<const int64_t> samples) {
  bytes_.resize(static_cast<size_t>(dataset_.size(split_)));  // by the first call
  std::vector<int32_t> places(samples.size());
  std::iota(places.begin(), places.end(), 0);
  const auto bytes = [&](int32_t place) { return bytes_of(samples[static_cast<size_t>(place)]); };
  const bool equal = std::ranges::adjacent_find(places, std::not_equal_to(), bytes) == places.end();
  if (equal) return {};
  std::ranges::stable_sort(places, std::greater(), bytes);
  return places;
}

}  // namespace stoker
