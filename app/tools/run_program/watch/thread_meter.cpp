#include "app/tools/run_program/watch/thread_meter.h"

#include <algorithm>

namespace stoker {

double ThreadMeter::take_back(double excess_s, DoingSeconds& did) {
  const double unseen = std::min(excess_s, pending_s_);
  pending_s_ -= unseen;
  const double seen = std::min(excess_s - unseen, recent_s_);
  recent_s_ -= seen;
  did[doing_] -= seen;
  return unseen + seen;
}

DoingSeconds ThreadMeter::look(double now_s, const TaskSchedule& schedule,
                               std::optional<Doing> blocked) {
  DoingSeconds did;
  const double passed = std::max(0.0, now_s - last_s_);
  const bool ran = has_run(schedule);
  const double on_core = 1e-9 * static_cast<double>(schedule.ran_ns - last_.ran_ns);
  double for_core = 1e-9 * static_cast<double>(schedule.waited_ns - last_.waited_ns);
  const double told = std::min(credit_s_, for_core);
  credit_s_ -= told;
  for_core -= told;
  did[Doing::on_core] = std::min(on_core, passed);
  const double excess = did[Doing::on_core] + for_core - passed;
  if (excess > 0) for_core -= excess - take_back(excess, did);
  did[Doing::for_core] = for_core;
  const double rest = std::max(0.0, passed - did[Doing::on_core] - for_core);
  last_s_ = now_s;
  last_ = schedule;
  if (blocked) {
    if (ran || *blocked != doing_) recent_s_ = 0;
    doing_ = *blocked;
    did[doing_] += rest + pending_s_;
    recent_s_ += rest;
    pending_s_ = 0;
  } else if (!ran) {
    did[Doing::for_core] += rest;
    credit_s_ += rest;
  } else {
    recent_s_ = 0;
    pending_s_ += rest;
  }
  return did;
}

DoingSeconds ThreadMeter::end(const DoingSeconds& so_far) {
  DoingSeconds did;
  double blocked = 0;
  for (size_t i = 0; i < kDoings; ++i) {
    const auto doing = static_cast<Doing>(i);
    if (doing == Doing::on_core || doing == Doing::for_core) continue;
    blocked += std::max(0.0, so_far[doing]);
  }
  for (size_t i = 0; i < kDoings; ++i) {
    const auto doing = static_cast<Doing>(i);
    if (doing == Doing::on_core || doing == Doing::for_core || blocked <= 0) continue;
    did[doing] = pending_s_ * std::max(0.0, so_far[doing]) / blocked;
  }
  if (blocked <= 0) did[Doing::other] = pending_s_;
  pending_s_ = 0;
  return did;
}

}  // namespace stoker
