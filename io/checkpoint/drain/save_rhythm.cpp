#include "io/checkpoint/drain/save_rhythm.h"

#include <algorithm>

namespace stoker {

SaveRhythm::SaveRhythm(const CheckpointOptions& options)
    : every_steps_(options.every_steps),
      every_seconds_(options.every_seconds),
      every_epochs_(options.every_epochs.has_value()) {}

void SaveRhythm::offered(int64_t step, TimePoint now, bool begun) {
  if (!last_) last_ = Mark{step, now};
  if (!begun) return;
  const double since_s = seconds(now - last_->time);
  const int64_t steps = step - last_->step;
  std::optional<double> due_s;
  const auto sooner = [&](double s) { due_s = std::min(s, due_s.value_or(s)); };
  if (every_seconds_) sooner(*every_seconds_);
  if (every_steps_ && steps > 0) {
    const auto left = static_cast<double>(*every_steps_ - step % *every_steps_);
    sooner(since_s / static_cast<double>(steps) * left);
  }
  if (every_epochs_ && steps > 0) sooner(since_s);
  next_ = due_s ? std::optional(now + from_seconds(*due_s)) : std::nullopt;
  last_ = Mark{step, now};
}

}  // namespace stoker
