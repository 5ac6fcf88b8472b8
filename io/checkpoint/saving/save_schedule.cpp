#include "io/checkpoint/saving/save_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stoker {

SaveSchedule::SaveSchedule(const CheckpointOptions& options,
                           std::function<std::optional<TimePoint>()> stop_requested,
                           RankGroup& group)
    : options_(options),
      stop_requested_(std::move(stop_requested)),
      group_(group),
      rhythm_(options_) {
  if (group_.size() == 1) last_begin_ = Clock::now();
}

bool SaveSchedule::due(const CheckpointOffer& offer) {
  // The offers' clock may be another process's.
  if (!last_begin_) last_begin_ = offer.now;
  return options_.due(offer, seconds(offer.now - *last_begin_));
}

void SaveSchedule::offered(int64_t step, bool due) {
  rhythm_.offered(step, Clock::now(), due);
  const std::optional<TimePoint> next = rhythm_.next();
  next_save_ = next ? next->time_since_epoch().count() : 0;
}

void SaveSchedule::began(const CheckpointOffer& offer) {
  last_step_ = offer.step;
  last_begin_ = offer.now;
}

std::optional<TimePoint> SaveSchedule::deadline() const {
  if (!group_.gone().empty()) return Clock::now();
  const std::optional<TimePoint> requested = stop_requested_ ? stop_requested_() : std::nullopt;
  if (!requested) return std::nullopt;
  return *requested + from_seconds(options_.grace_seconds);
}

std::string SaveSchedule::too_late(int64_t step) const {
  const std::optional<TimePoint> end = deadline();
  if (!end) return "";
  if (const std::string gone = group_.gone(); !gone.empty()) {
    return fmt::format("no checkpoint of step {}: {}", step, gone);
  }
  const double left = seconds(*end - Clock::now());
  if (left > 0) return "";
  return fmt::format(
      "no checkpoint of step {}: checkpoint.grace_seconds had been over for {:.1f} s when the "
      "training came to its end",
      step, -left);
}

std::optional<TimePoint> SaveSchedule::next_save() const {
  const Clock::rep next = next_save_;
  return next != 0 ? std::optional(TimePoint(Clock::duration(next))) : std::nullopt;
}

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
