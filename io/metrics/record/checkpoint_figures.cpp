#include <functional>

#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;
using Report = CheckpointReport;
using State = CheckpointMeter::State;

constexpr const char* kEngine = "Counted by the checkpointer.";
constexpr const char* kClock = "The monotonic clock is read at the begin and at the end.";

// A figure of a run that saves checkpoints.
template <class F>
Read of_report(F value) {
  return one([value](R record) {
    const auto& report = record.checkpoints.report;
    return report ? Value(std::invoke(value, *report)) : std::nullopt;
  });
}

// Labelled by part. `value` takes a value from the meter's state, by the part's index.
template <class F>
Read by_part(F value) {
  return several([value](R record, const auto& add) {
    for (size_t i = 0; record.checkpoints.report && i < kCheckpointParts; ++i) {
      add({to_string(static_cast<CheckpointPart>(i))}, value(record.checkpoints, i));
    }
  });
}

Read spread_of(std::optional<Spread> Report::*times) {
  return by_stat([times](R record) {
    const auto& report = record.checkpoints.report;
    return report ? (*report).*times : std::nullopt;
  });
}

int under_way(const State& state, CheckpointPart part) {
  return state.under_way[static_cast<size_t>(part)];
}

Value steps_at_risk(R record) {
  const auto& report = record.checkpoints.report;
  if (!report || !report->durable_step) return std::nullopt;
  return record.run.totals.steps - *report->durable_step;
}

std::vector<Figure> counts() {
  return {
      {"checkpoints.saved", counter, Unit::none, "Sets that were committed on the first tier.",
       kEngine, of_report(&Report::saved)},
      {"checkpoints.failed", counter, Unit::none, "Sets that were given up after all attempts.",
       kEngine, of_report(&Report::failed)},
      {"checkpoints.skipped", counter, Unit::none,
       "Sets that were not saved because of on_backlog: skip.", kEngine,
       of_report(&Report::skipped)},
      {"checkpoints.replaced", counter, Unit::none,
       "Waiting sets that a newer one replaced (on_backlog: replace).", kEngine,
       of_report(&Report::replaced)},
      {"checkpoints.drained", counter, Unit::none,
       "Sets that were copied, verified and committed on the last tier.", kEngine,
       of_report(&Report::drained)},
      {"checkpoints.drain_retries", counter, Unit::none, "Drains that failed and were tried again.",
       kEngine, of_report(&Report::drain_retries)},
      {"checkpoints.drains_left", gauge, Unit::none, "Sets that are only on the fast tier.",
       kEngine, of_report(&Report::drains_left)},
      {"checkpoints.saved_step", gauge, Unit::none, "The newest step that is saved on any tier.",
       kEngine, of_report(&Report::saved_step)},
      {"checkpoints.durable_step", gauge, Unit::none,
       "The newest step that is saved on the last tier.", kEngine,
       of_report(&Report::durable_step)},
      {"checkpoints.steps_at_risk", gauge, Unit::none,
       "The steps that are lost if the machine dies now: steps - durable_step.", kEngine,
       one(steps_at_risk)},
      {"checkpoints.set_bytes", gauge, Unit::bytes, "Size of one set.", kEngine,
       of_report(&Report::set_bytes)},
      {"checkpoints.degraded", gauge, Unit::none,
       "1 if the last attempt on some tier failed, else 0.", kEngine, of_report(&Report::degraded)},
  };
}

std::vector<Figure> times() {
  return {
      {"checkpoints.parts.{part}.duration_s", histogram, Unit::seconds,
       "Time of one part of a checkpoint. blocked: the trainer waits. snapshot: the state is "
       "copied into snapshot memory. write: from there to the commit on the first tier. save: from "
       "the trainer's offer to that commit. drain: from the begin of the copy to the commit on the "
       "last tier. restore: a state is verified and loaded.",
       kClock,
       by_part([](const State& state, size_t part) { return histogram_of(state.parts[part]); })},
      {"checkpoints.parts.{part}.bytes", counter, Unit::bytes, "Bytes that the part moved.",
       "Only drain counts them.",
       by_part([](const State& state, size_t part) { return state.parts[part].bytes; })},
      {"checkpoints.parts.{part}.last_s", gauge, Unit::seconds, "Time of the newest one.", kClock,
       by_part([](const State& state, size_t part) { return state.last_s[part]; })},
      {"checkpoints.save_s.{stat}", quotient, Unit::seconds,
       "The exact time of saves, where parts.save.duration_s is a histogram.", kClock,
       spread_of(&Report::save_times)},
      {"checkpoints.drain_s.{stat}", quotient, Unit::seconds,
       "The exact time of drains, where parts.drain.duration_s is a histogram.", kClock,
       spread_of(&Report::drain_times)},
      {"checkpoints.flush_s", gauge, Unit::seconds,
       "Time from the end of the loop until all sets were where they belong.", kClock,
       of_report(&Report::flush_s)},
      {"checkpoints.last_save_unix_s", gauge, Unit::unix_time,
       "When the newest save that succeeded ended.", "System clock.",
       one([](R r) { return r.checkpoints.last_save_unix_s; })},
      {"checkpoints.saving", gauge, Unit::none, "Saves that are under way now.", kEngine,
       one([](R r) {
         return under_way(r.checkpoints, CheckpointPart::snapshot) +
                under_way(r.checkpoints, CheckpointPart::write);
       })},
      {"checkpoints.draining", gauge, Unit::none, "Drains that are under way now.", kEngine,
       one([](R r) { return under_way(r.checkpoints, CheckpointPart::drain); })},
  };
}

std::vector<Figure> drain_limits() {
  return {
      {"checkpoints.drain_limit_bytes", gauge, Unit::bytes,
       "Bytes per second that the drain under way may copy or read back, or that the last one "
       "might.",
       "checkpoint.drain_limit, or what `auto` made of it. It is absent without a limit.",
       one([](R r) { return r.checkpoints.drain_limit; })},
      {"checkpoints.drain_slowdown_share", gauge, Unit::share,
       "By how much a drain slowed training's input down: the drain under way, or the last one.",
       "The trainer's share of data_wait during the drain is compared with that between drains "
       "(drain_limit: auto).",
       one([](R r) { return r.checkpoints.drain_slowdown; })},
      {"checkpoints.drain_decisions.{decision}", counter, Unit::none,
       "What drain_limit: auto decided. raised: the limit held the drain up and did not slow the "
       "input. held: the limit did not hold it up, or the input had to recover. lowered: the input "
       "was slowed, or was about to be. hurried: it was slowed, but the next save was too near to "
       "lower the limit.",
       "Counted by the drain, every 0.25 s of training.", several([](R r, const auto& add) {
         const auto& decisions = r.checkpoints.drain_decisions;
         for (size_t i = 0; decisions && i < kDrainDecisions; ++i) {
           add({to_string(static_cast<DrainDecision>(i))}, (*decisions)[i]);
         }
       })},
  };
}

}  // namespace

std::vector<Figure> checkpoint_figures() { return joined({counts(), times(), drain_limits()}); }

}  // namespace stoker
