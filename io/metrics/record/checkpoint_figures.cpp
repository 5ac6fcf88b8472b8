#include <functional>

#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;
using Report = CheckpointReport;
using State = CheckpointMeter::State;

constexpr const char* kEngine = "Counted by the checkpointer.";
constexpr const char* kClock = "Monotonic clock, at the begin and the end.";

// Of a run with checkpoints.
template <class F>
Read of_report(F value) {
  return one([value](R record) {
    const auto& report = record.checkpoints.report;
    return report ? Value(std::invoke(value, *report)) : std::nullopt;
  });
}

// Labelled by part. value: of the meter's state and the part's index.
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
      {"checkpoints.skipped", counter, Unit::none, "Sets left out by on_backlog: skip.", kEngine,
       of_report(&Report::skipped)},
      {"checkpoints.replaced", counter, Unit::none, "Sets replaced by on_backlog: replace.",
       kEngine, of_report(&Report::replaced)},
      {"checkpoints.drained", counter, Unit::none,
       "Sets that were copied, verified and committed on the last tier.", kEngine,
       of_report(&Report::drained)},
      {"checkpoints.drain_retries", counter, Unit::none, "Drains that failed and were tried again.",
       kEngine, of_report(&Report::drain_retries)},
      {"checkpoints.drains_left", gauge, Unit::none, "Sets that are on the fast tier only.",
       kEngine, of_report(&Report::drains_left)},
      {"checkpoints.saved_step", gauge, Unit::none, "Newest step that is saved on any tier.",
       kEngine, of_report(&Report::saved_step)},
      {"checkpoints.durable_step", gauge, Unit::none, "Newest step on the last tier.", kEngine,
       of_report(&Report::durable_step)},
      {"checkpoints.steps_at_risk", gauge, Unit::none,
       "steps - durable_step: what is lost if the machine dies now.", kEngine, one(steps_at_risk)},
      {"checkpoints.set_bytes", gauge, Unit::bytes, "Size of one set.", kEngine,
       of_report(&Report::set_bytes)},
      {"checkpoints.degraded", gauge, Unit::none, "1 where the last attempt on some tier failed.",
       kEngine, of_report(&Report::degraded)},
  };
}

std::vector<Figure> times() {
  return {
      {"checkpoints.parts.{part}.duration_s", histogram, Unit::seconds,
       "Time of a part of a checkpoint's way. blocked: the trainer waited; snapshot: copy into "
       "snapshot memory; write: from there to the commit on the first tier; save: from the offer "
       "to that commit; drain: from the begin of the copy to the commit on the last tier; restore: "
       "a "
       "state was verified and loaded.",
       kClock,
       by_part([](const State& state, size_t part) { return histogram_of(state.parts[part]); })},
      {"checkpoints.parts.{part}.bytes", counter, Unit::bytes, "Bytes that the part moved.",
       "Where the part knows them: drain.",
       by_part([](const State& state, size_t part) { return state.parts[part].bytes; })},
      {"checkpoints.parts.{part}.last_s", gauge, Unit::seconds, "Time of the newest.", kClock,
       by_part([](const State& state, size_t part) { return state.last_s[part]; })},
      {"checkpoints.save_s.{stat}", quotient, Unit::seconds,
       "Exact, where parts.save.duration_s is a histogram.", kClock,
       spread_of(&Report::save_times)},
      {"checkpoints.drain_s.{stat}", quotient, Unit::seconds,
       "Exact, where parts.drain.duration_s is a histogram.", kClock,
       spread_of(&Report::drain_times)},
      {"checkpoints.flush_s", gauge, Unit::seconds,
       "Time after the loop until all sets were where they belong.", kClock,
       of_report(&Report::flush_s)},
      {"checkpoints.last_save_unix_s", gauge, Unit::unix_time, "When the newest good save ended.",
       "System clock.", one([](R r) { return r.checkpoints.last_save_unix_s; })},
      {"checkpoints.saving", gauge, Unit::none, "Saves under way now.", kEngine, one([](R r) {
         return under_way(r.checkpoints, CheckpointPart::snapshot) +
                under_way(r.checkpoints, CheckpointPart::write);
       })},
      {"checkpoints.draining", gauge, Unit::none, "Drains under way now.", kEngine,
       one([](R r) { return under_way(r.checkpoints, CheckpointPart::drain); })},
  };
}

std::vector<Figure> drain_limits() {
  return {
      {"checkpoints.drain_limit_bytes", gauge, Unit::bytes,
       "What the drain under way may copy or read back in a second, or what the last one might.",
       "checkpoint.drain_limit, or what auto made of it. Absent without a limit.",
       one([](R r) { return r.checkpoints.drain_limit; })},
      {"checkpoints.drain_slowdown_share", gauge, Unit::share,
       "By how much training's input was slower than before while the drain under way, or the last "
       "one, went on.",
       "The trainer's share of data_wait beside that between drains; drain_limit: auto.",
       one([](R r) { return r.checkpoints.drain_slowdown; })},
      {"checkpoints.drain_decisions.{decision}", counter, Unit::none,
       "What drain_limit: auto did. raised: the drain waited for the limit, and the input bore it; "
       "held: it did not, or the input had to recover; lowered: the input suffered, or was about "
       "to; hurried: likewise, but the next save was too near.",
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
