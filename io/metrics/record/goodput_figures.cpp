#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;

constexpr const char* kLifetime =
    "The ledgers of all processes, and between them the clock that runs on while the machine "
    "sleeps; the record that each leaves to the next is at most a tenth of a second old.";

// A figure of what is known of the training; absent where nobody keeps that.
template <class F>
Read of_training(F value) {
  return one([value](R record) {
    const std::optional<Goodput>& goodput = record.run.goodput;
    return goodput ? Value(value(*goodput)) : std::nullopt;
  });
}

std::array<Value, kGoodputParts> parts(R record) {
  std::array<Value, kGoodputParts> result;
  if (!record.run.goodput) return result;
  for (size_t i = 0; i < kGoodputParts; ++i) result[i] = record.run.goodput->parts_s[i];
  return result;
}

}  // namespace

// Gauges, all of them: what is lost with a process goes from one part to another.
std::vector<Figure> goodput_figures() {
  return {
      {"goodput.effective_share", gauge, Unit::share,
       "Goodput over restarts: the share of the training's wall time, over all its processes, in "
       "steps that count, without what these waited for: goodput.parts_s.effective / "
       "goodput.wall_s.",
       "Computed from the two figures.", of_training([](const Goodput& of) {
         return ratio(of.part(GoodputPart::effective), of.wall_s());
       })},
      {"goodput.wall_s", gauge, Unit::seconds,
       "Time from the begin of the training's first process until now. What passed after it had "
       "done all its steps, until it was resumed for more, is left out.",
       "By two readings of the clock that no part uses; it runs on while the machine sleeps. Over "
       "a restart of the machine by the system's clock.",
       of_training([](const Goodput& of) { return of.wall_s(); })},
      {"goodput.parts_s.{part}", gauge, Unit::seconds,
       "The training's wall time by what it went to, in exclusive parts. effective: steps that "
       "count. data_wait, checkpoint_stall, evaluation: what they waited for, and evaluations. "
       "start: from the begin of each process to its first step. lost: steps that were done and "
       "had to be done again. end: from the end of the loop to that of the process. paused: the "
       "process stood still. down: between two processes.",
       kLifetime, each(goodput_part_name, parts)},
      {"goodput.closure_error", gauge, Unit::share,
       "How well the parts add up: the difference between their sum and goodput.wall_s, / "
       "goodput.wall_s.",
       "Computed from the two figures.",
       of_training([](const Goodput& of) { return of.closure_error(); })},
      {"goodput.time_to_start_s", gauge, Unit::seconds,
       "Time from the begin of this process to its first step, for which the first batch was "
       "there.",
       "The kernel's word for the begin of a process, and the monotonic clock.",
       of_training([](const Goodput& of) { return of.time_to_start_s; })},
      {"goodput.time_to_recover_s", gauge, Unit::seconds,
       "Time from the end of a process, as a kill, until a step was done that none before had "
       "done; of the newest recovery that has ended.",
       kLifetime, of_training([](const Goodput& of) { return of.newest_recovery_s; })},
      {"goodput.recoveries", gauge, Unit::none, "Recoveries that have ended.", kLifetime,
       of_training([](const Goodput& of) { return of.recoveries; })},
      {"goodput.recovered_s", gauge, Unit::seconds,
       "What these took together. It lies across the parts: down, start and steps done again.",
       kLifetime, of_training([](const Goodput& of) { return of.recovered_s; })},
      {"goodput.processes", gauge, Unit::none,
       "Processes that the training has had, also those that saved nothing.", kLifetime,
       of_training([](const Goodput& of) { return of.processes; })},
      {"goodput.interruptions", gauge, Unit::none,
       "Processes of them that ended before the training was done, and were followed by another.",
       kLifetime, of_training([](const Goodput& of) { return of.interruptions; })},
      {"goodput.lost_steps", gauge, Unit::none, "Steps that were done and had to be done again.",
       kLifetime, of_training([](const Goodput& of) { return of.lost_steps; })},
  };
}

}  // namespace stoker
