#include "io/checkpoint/saving/save_schedule.h"

#include <fmt/format.h>

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

}  // namespace stoker
