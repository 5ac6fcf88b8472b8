#include "app/mount/reply_schedule.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace stoker {
namespace {

// What a reader is given back at most, as TierModel does it, and what is taken from it.
constexpr Clock::duration kMostLate = std::chrono::milliseconds(20);
constexpr Clock::duration kMostEarly = std::chrono::milliseconds(1);
// Readers that are gone leave their entry; then all are forgotten.
constexpr size_t kMostReaders = 4096;

}  // namespace

void ReplySchedule::push(Waiting waiting) {
  waiting.at = waiting.passage.at;
  if (waiting.passage.left == 0) waiting.at -= waiting.after;
  waiting_.push(waiting);
}

void ReplySchedule::arrive(MountRequest* request, pid_t reader, TierModel& model,
                           const TierOperation& operation, TimePoint now) {
  Clock::duration late{};
  if (const auto found = late_.find(reader); found != late_.end()) {
    late = found->second;
    // Several requests of one reader that are under way together waited for one late answer.
    late_.erase(found);
  }
  const TimePoint arrival = now - cost_.before - late;
  push({{},
        arrived_++,
        {request, reader, &model, arrival, {}},
        model.enter(arrival, operation),
        cost_.after_bytes(operation.bytes)});
}

std::optional<TimePoint> ReplySchedule::next() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.top().at;
}

std::optional<ReplySchedule::Due> ReplySchedule::pop(TimePoint now) {
  while (!waiting_.empty() && waiting_.top().at <= now) {
    Waiting first = waiting_.top();
    waiting_.pop();
    if (first.passage.left == 0) {
      first.due.modelled = first.passage.at;
      return first.due;
    }
    first.due.model->go_on(first.passage);
    push(first);
  }
  return std::nullopt;
}

void ReplySchedule::answered(const Due& due, TimePoint sent) {
  const Clock::duration late = sent + cost_.tail - due.modelled;
  if (late > kMostLate) {
    due.model->passed(due.modelled, due.modelled, due.modelled + (late - kMostLate));
  }
  if (due.reader == 0) return;
  if (late_.size() >= kMostReaders) late_.clear();
  late_[due.reader] = std::clamp(late, -kMostEarly, kMostLate);
}

}  // namespace stoker
