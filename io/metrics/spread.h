#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/metrics/clock.h"

namespace stoker {

// Minimum, median, 99th percentile (nearest rank) and maximum of repeated measurements.
struct Spread {
  // In the unit of the values.
  double min = 0;
  double median = 0;
  double p99 = 0;
  double max = 0;
};

// `values` must not be empty. The median of an even number is the mean of the middle two. A pure
// function; any thread.
inline Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  const double median = odd ? values[half] : (values[half - 1] + values[half]) / 2;
  const size_t rank = (values.size() * 99 + 99) / 100;
  return {values.front(), median, values[rank - 1], values.back()};
}

// Images per second over windows of time, because an epoch may last a tenth of a second or an hour.
// A window ends with the first step that finishes `length` or more after its begin, so no step is
// split, and each rate times its window is a whole number of images. One thread at a time.
// The spread of these rates says how even a run was; their mean is not the run's rate, as the last
// window is left out.
class RateWindows {
 public:
  // begin: when the first window begins. length: how long each window is, above 0.
  RateWindows(TimePoint begin, Clock::duration length) : since_(begin), length_(length) {}

  // `images` more were finished at `now`, which never goes back.
  void add(TimePoint now, int64_t images) {
    images_ += images;
    if (now - since_ < length_ || now == since_) return;
    rates_.push_back(static_cast<double>(images_) / seconds(now - since_));
    since_ = now;
    images_ = 0;
  }

  // The rates of the complete windows, in their order. The window under way is not among them.
  // Valid until the next add().
  const std::vector<double>& rates() const { return rates_; }

 private:
  TimePoint since_;
  Clock::duration length_;
  int64_t images_ = 0;
  std::vector<double> rates_;
};

}  // namespace stoker
