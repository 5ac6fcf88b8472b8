#include "io/loader/read_hints.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace stoker {

void ReadHints::about_to_read(const EpochOrder& order, int64_t begin, int64_t end) {
  any_ = true;
  if (order.stretch == 0) {
    const auto places = static_cast<size_t>(end - begin);
    return dataset_.expect(split_,
                           std::span(order.samples).subspan(static_cast<size_t>(begin), places));
  }
  const int64_t own = std::ssize(order.reading);
  if (!epoch_ || epoch_ <= order.epoch) say(order, begin, end + (ahead_ ? order.stretch : 0));
  if (ahead_ && epoch_ == order.epoch && said_ == own) {
    next_ = sampler_.order(order.epoch.value() + 1);
    say(next_, 0, 1);
  }
}

void ReadHints::say(const EpochOrder& order, int64_t from, int64_t end) {
  if (epoch_ != order.epoch) said_ = from;
  epoch_ = order.epoch;
  const int64_t own = std::ssize(order.reading);
  while (said_ < std::min(end, own)) {
    const int64_t begin = said_ / order.stretch * order.stretch;
    const int64_t stretch_end = std::min(begin + order.stretch, own);
    std::vector<int64_t> reads(order.reading.begin() + begin, order.reading.begin() + stretch_end);
    if (said_ > begin) {  // the run goes on in the middle of it
      const std::unordered_set<int64_t> left(order.samples.begin() + said_,
                                             order.samples.begin() + stretch_end);
      std::erase_if(reads, [&](int64_t sample) { return !left.contains(sample); });
    }
    dataset_.expect(split_, reads);
    said_ = stretch_end;
  }
}

void ReadHints::forget() {
  if (any_) dataset_.expect(split_, {});
  any_ = false;
  epoch_.reset();
  next_ = {};
}

EpochOrder ReadHints::take_next() { return std::exchange(next_, {}); }

}  // namespace stoker
