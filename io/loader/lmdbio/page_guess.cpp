#include "io/loader/lmdbio/page_guess.h"

#include <algorithm>

namespace stoker {

PageSpan PageGuess::next() const {
  if (!known_ || !last_end_) return {};
  const int64_t first = std::max<int64_t>(*last_end_ + least_stride_, 0);
  return {first, first + (most_stride_ - least_stride_) + most_pages_};
}

void PageGuess::used(const PageSpan& pages) {
  most_pages_ = std::max(most_pages_, pages.count());
  if (last_end_) {
    const int64_t stride = pages.first - *last_end_;
    least_stride_ = known_ ? std::min(least_stride_, stride) : stride;
    most_stride_ = known_ ? std::max(most_stride_, stride) : stride;
    known_ = true;
  }
  last_end_ = pages.last;
}

RecordReadCosts missed_and_extra(const PageSpan& guessed, const PageSpan& used) {
  RecordReadCosts costs;
  if (guessed.count() <= 0) {
    costs.pages_missed_right = used.count();
    return costs;
  }
  const auto length = [](int64_t first, int64_t last) {
    return std::max<int64_t>(last - first, 0);
  };
  costs.pages_missed_left = length(used.first, std::min(guessed.first, used.last));
  costs.pages_missed_right = length(std::max(guessed.last, used.first), used.last);
  costs.pages_extra_left = length(guessed.first, std::min(used.first, guessed.last));
  costs.pages_extra_right = length(std::max(used.last, guessed.first), guessed.last);
  return costs;
}

}  // namespace stoker
