#include "io/loader/largest_first.h"

#include <algorithm>
#include <functional>

namespace stoker {

LargestFirst::LargestFirst(const Dataset& dataset, Split split)
    : dataset_(dataset), split_(split), bytes_(static_cast<size_t>(dataset.size(split))) {}

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
  keys_.clear();
  bool equal = true;
  for (size_t place = 0; place < samples.size(); ++place) {
    const uint64_t bytes = bytes_of(samples[place]);
    keys_.push_back(bytes << 32 | (UINT32_MAX - place));
    equal = equal && bytes == keys_.front() >> 32;
  }
  if (equal) return {};
  std::sort(keys_.begin(), keys_.end(), std::greater());
  std::vector<int32_t> places;
  places.reserve(keys_.size());
  for (const uint64_t key : keys_) {
    places.push_back(static_cast<int32_t>(UINT32_MAX - (key & UINT32_MAX)));
  }
  return places;
}

}  // namespace stoker
