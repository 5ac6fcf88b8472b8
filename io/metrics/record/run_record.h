#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics/hub.h"
#include "io/metrics/machine/nvml.h"

namespace stoker {

// What the kernel counted between two moments. A value.
struct MachineUse {
  Machine from;
  Machine to;
  double seconds = 0;
};

// All that is known of a run at one moment: what steps.csv, timeline.csv, /metrics, /api/status and
// summary.json say is read from it, by the table of figures (figures.h). Made by the Hub. A value.
struct RunRecord {
  // The moment, on the clock of all measurements and as Unix time.
  TimePoint at;
  double unix_s = 0;
  double elapsed_s = 0;  // since the loop began, until the run's end; 0 before
  RunMeter::State run;
  CheckpointMeter::State checkpoints;
  std::optional<double> queue_fill;  // of the queue before the trainer; absent: none
  // In whole records only, as all that follows; empty or 0 in those of a step.
  std::vector<LoaderMeter::State> loaders;  // train, test
  // In the order of the configuration.
  std::vector<TierMeter::State> tiers;
  std::array<double, kOverheads> overhead_s{};
  // The tracer's events: those it kept, and those it dropped because they came too fast.
  int64_t trace_events = 0;
  int64_t trace_dropped = 0;
  Machine machine;
  MachineUse use;   // during the loop, so far
  GpuReadings gpu;  // of those who read it
};

// What passed between two moments of one run, so that shares and rates are those of the time
// between: the sums of trainer, device, tiers and machine are subtracted. The rest is of `now`.
RunRecord between(const RunRecord& before, const RunRecord& now);

// The same moment, with what the trainer has done of the step under way. For charts, in which a
// stall shows while it lasts. Times never shrink from one such moment to the next.
RunRecord with_step_under_way(RunRecord record);

// What counts as cold and as warm, wherever the program says so: the share of the data's bytes that
// the page cache may still hold, or lack, when a measurement begins. A few pages always come back,
// because somebody looked at the files; a rate measured with this share is off by it at most.
inline constexpr double kColdShare = 0.03;
inline bool is_cold(double cached_share) { return cached_share <= kColdShare; }
inline bool is_warm(double cached_share) { return cached_share >= 1 - kColdShare; }

// Where the data came from.
struct CacheVerdict {
  enum class Level { unknown, cold, mixed, warm };
  Level level = Level::unknown;
  // The figures that it was judged by.
  std::string text;
};
// "cold": the word in summary.json.
const char* to_string(CacheVerdict::Level level);

// The page cache was not as the run was told to make it: why, in words. Such a run says nothing of
// the storage below. Empty: it was, or nothing was asked.
std::string missed_page_cache(const CacheEvidence& cache);
// What was read in the next epochs. Where it is as cold or warm as what was read in those before
// them, it is added to that.
void add_epochs(CacheEvidence& cache, const EpochReads& reads);
// A whole record. One process: by what its reading threads fetched; `unknown` where the kernel does
// not say. Which epochs were cold or warm is said where not all were the same. Many ranks: by what
// the page cache held when the run began, where that is known.
CacheVerdict judge_cache(const RunRecord& record);

}  // namespace stoker
