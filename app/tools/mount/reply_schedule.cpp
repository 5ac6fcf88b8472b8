#include "app/tools/mount/reply_schedule.h"

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

// The cost is what one reader on an idle machine has in the mean. Several keep the processors
// awake, and then it is less: that shows where a reader comes back before it can have gone on. So
// no request begins before the last one's end; what was taken off too much is kept against what
// noise adds to later ones.
TimePoint ReplySchedule::arrival(pid_t reader, TimePoint now) {
  const auto found = readers_.find(reader);
  // Several requests of one reader that are under way together waited for one late answer.
  if (found == readers_.end() || !found->second.answered) return now - cost_.before;
  Reader& known = found->second;
  known.answered = false;
  if (!known.late) return known.through;
  const Clock::duration thought = now - cost_.before - *known.late - known.through + known.too_much;
  known.too_much = std::clamp(thought, -kMostEarly, Clock::duration{});
  return known.through + std::max(thought, Clock::duration{});
}

void ReplySchedule::arrive(MountRequest* request, pid_t reader, TierModel& model,
                           const TierOperation& operation, TimePoint now) {
  const TimePoint begin = arrival(reader, now);
  push({{},
        arrived_++,
        {request, reader, &model, begin, {}},
        model.enter(begin, operation),
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

void ReplySchedule::answering(const Due& due, Clock::duration overrun) {
  if (due.reader == 0) return;
  if (readers_.size() >= kMostReaders) readers_.clear();
  Reader& reader = readers_[due.reader];
  reader.answered = true;
  reader.to = due.request;
  reader.through = due.modelled + overrun;
  reader.late.reset();
}

void ReplySchedule::answered(const Due& due, TimePoint sent) {
  const Clock::duration late = sent + cost_.tail - due.modelled;
  if (late > kMostLate) {
    due.model->passed(due.modelled, due.modelled, due.modelled + (late - kMostLate));
  }
  const auto found = readers_.find(due.reader);
  if (found == readers_.end() || found->second.to != due.request) return;
  found->second.late = std::clamp(late, -kMostEarly, kMostLate);
}

}  // namespace stoker
