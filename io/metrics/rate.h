#pragma once

#include <cstdint>
#include <vector>

#include "io/metrics/clock.h"

namespace stoker {

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
