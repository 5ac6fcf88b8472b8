#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "io/metrics/ledger.h"

namespace stoker {

// Where the time of a training goes, over all its processes. Exclusive and exhaustive: the parts
// add up to the wall time.
//
//   process 1:  |start|-- steps that count --|-- lost steps --|x    x: killed
//                                                              |down|
//   process 2:                                                      |start|-- steps --|end|
//   recovery:                                                  |---------------|
//
// effective: steps, without what they waited for. start: from the begin of a process to its first
// step. lost: steps that were done and had to be done again, with all that belongs to them. end:
// from the end of the loop to the end of the process. paused: the process stood still, or the
// machine slept. down: between two processes.
enum class GoodputPart {
  effective,
  data_wait,
  checkpoint_stall,
  evaluation,
  start,
  lost,
  end,
  paused,
  down
};
inline constexpr size_t kGoodputParts = 9;
// "data_wait": the name in every sink. Valid for ever. Any thread.
const char* goodput_part_name(GoodputPart part);
using GoodputParts = std::array<double, kGoodputParts>;  // seconds

// A moment that other processes can compare theirs with, later ones after a restart of the machine
// as well. A value.
struct Moment {
  std::string boot;   // which start of the machine
  double boot_s = 0;  // since then, sleep included: no one can set that clock
  double unix_s = 0;  // the system's clock
};
// Seconds between the two, and never less than 0: by the system's clock only where the machine was
// started between them.
double passed_s(const Moment& before, const Moment& after);

// How a process has ended. none: it runs, or it was killed.
enum class ProcessEnd { none, interrupted, completed };

// What is known of a training at a moment: what its processes leave to the next one. A value.
struct Goodput {
  std::string training;  // a name of its own for each
  Moment at;
  // When it began, by at.boot_s's clock; negative where the machine was started since. A reading of
  // its own: no sum of parts.
  double begun_boot_s = 0;
  GoodputParts parts_s{};
  int64_t steps = 0;  // finished ones, as its newest process counts them
  int64_t lost_steps = 0;
  int64_t processes = 1;
  // Processes that ended before the training was done, and were followed by another.
  int64_t interruptions = 0;
  // From the end of a process until a step is done that none before has done. Those that have
  // ended, what they took together, and what the newest of them took.
  int64_t recoveries = 0;
  double recovered_s = 0;
  std::optional<double> newest_recovery_s;
  // The one under way: when it began, in seconds of wall_s(), and the last step that is not new.
  struct Recovery {
    double since_s = 0;
    int64_t last_step = 0;
  };
  std::optional<Recovery> recovering;
  // From the begin of the newest process to its first step.
  std::optional<double> time_to_start_s;
  bool saved = false;  // a checkpoint was saved, at some time
  // The newest process may be within a step, or have waited for something since its last one.
  bool in_loop = false;
  ProcessEnd end = ProcessEnd::none;

  double wall_s() const { return at.boot_s - begun_boot_s; }
  double part(GoodputPart of) const { return parts_s[static_cast<size_t>(of)]; }
  // |sum of the parts - wall_s()| / wall_s(). Over the whole chain of processes, so that it shows
  // what was not handed on.
  double closure_error() const;
};

// The functions below make the record of a process from that of the one before; in this order.

// The next process has begun: the time between is down, or, where the process before had done all
// its steps, no part of the training.
Goodput taken_up(Goodput last, const Moment& begin);
// The same process goes on from a checkpoint of `step`. saved: the record as it was when that was
// saved; null: it goes on from the beginning. What was done since then is lost.
Goodput gone_on_from(Goodput record, const Goodput* saved, int64_t step);

// What a process has come to. A value. Times in seconds by the monotonic clock, since the process
// began.
struct ProcessCourse {
  using Segments = std::array<double, kSegments>;
  double age_s = 0;
  double slept_s = 0;            // while the machine slept: no part of age_s
  std::optional<double> loop_s;  // when the loop began; absent: it has not
  // When the first batch was there, and the loop's segments until then; absent: none was yet.
  std::optional<double> first_batch_s;
  Segments before_first{};
  Segments segments{};           // of the loop, so far
  std::optional<double> over_s;  // the loop's wall time; absent: it has not ended
};
// The parts of that process alone: they add up to age_s + slept_s. What the ledger leaves between
// two segments counts as effective.
GoodputParts parts_of(const ProcessCourse& course);

// The record at a moment of the process that `before` was made for.
Goodput at_moment(Goodput before, const ProcessCourse& course, const Moment& at, int64_t steps);
// Step `step` is done: ends the recovery under way if it is new. True: it did. wall_s: now.
bool recovered(Goodput& record, int64_t step, double wall_s);

}  // namespace stoker
