#pragma once

#include <cstdint>
#include <optional>

#include "io/checkpoint/checkpoint_options.h"
#include "io/metrics/clock.h"

namespace stoker {

// When the next save is due, by what the options say and how long steps took since the last one (or
// since the first offer). A value; pure.
class SaveRhythm {
 public:
  explicit SaveRhythm(const CheckpointOptions& options);
  // For every offer, in their order; begun: it was saved. Where many of one run's processes save
  // together, offers have the first one's clock, and this its own.
  void offered(int64_t step, TimePoint now, bool begun);
  // The earliest of what every_steps, every_seconds and every_epochs say; an epoch is taken to
  // last as long as there was between the last two saves. Absent: not known yet, or no rule says.
  std::optional<TimePoint> next() const { return next_; }

 private:
  struct Mark {
    int64_t step = 0;
    TimePoint time;
  };
  const std::optional<int64_t> every_steps_;
  const std::optional<double> every_seconds_;
  const bool every_epochs_;
  std::optional<Mark> last_;  // save, or first offer
  std::optional<TimePoint> next_;
};

}  // namespace stoker
