#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/core/config/node.h"
#include "io/metrics/course/goodput.h"
#include "io/metrics/course/history.h"
#include "io/metrics/machine/system_stats.h"
#include "io/metrics/ranks/rank_times.h"
#include "io/metrics/run_facts.h"
#include "io/metrics/spread.h"
#include "io/metrics/tally.h"

namespace stoker {

// What a run is; known before the loop and constant. A value.
struct RunInfo {
  // run.name of the configuration.
  std::string name;
  // The run's directory, as the configuration and the program made it.
  std::string directory;
  // The hash of the resolved configuration. Two runs with the same hash were asked to do the same.
  std::string config_hash;
  // Types of the components, as the configuration names them (`type: alexnet`).
  std::string model;
  std::string dataset;
  std::string loader;
  // "none" if no checkpoints are saved.
  std::string checkpoint;
  // The arithmetic of a step: "fp32", "bf16".
  std::string precision;
  // What the device calls itself, such as the processor's or the GPU's name.
  std::string device;
  // How the device's busy time is known: "host", "events" or "emulated".
  std::string timing_method;
  // The device's times are calculated by a model of it, and not measured.
  bool emulated = false;
  // The resolved configuration, and what its components say; for the verdict. Null: there is none.
  std::shared_ptr<const Node> config;
  RunPlan plan;
  // NVML's index of the GPU. Absent: NVML does not know the device.
  std::optional<unsigned> gpu;

  // Samples in a batch of one rank.
  int64_t batch_size = 0;
  int64_t rank = 0;
  // By which other machines of the run reach this one. Empty: all its ranks are on this one.
  std::string address;
  int64_t world_size = 1;
  int64_t local_rank = 0;   // among those of this machine
  int64_t local_ranks = 1;  // that there are of it here
  // Steps in all that the run is to reach, and those that were finished before it was resumed.
  int64_t steps_planned = 0;
  int64_t first_step = 0;
  // Path of the set that the run was resumed from. Empty: it began from the beginning.
  std::string resumed_from;
  // When the program began, by the system's clock.
  double started_unix_s = 0;
  // What this binary is: version, revision, compiler and so on, by name.
  std::vector<std::pair<std::string, std::string>> build;
  // The block devices of the run directory and of the tiers with files.
  std::vector<BlockDevice> disks;
};

// What a run does, or how it ended: the last three are final.
enum class RunPhase { setup, train, eval, flush, completed, stopped, failed };
inline constexpr size_t kRunPhases = 7;
const char* to_string(RunPhase phase);

// What the page cache should hold of the data set when a run begins.
enum class PageCache { as_is, cold, warm };
const char* to_string(PageCache state);

// What was read while these epochs passed, the first being 1: bytes that were asked for, and those
// of them that block devices delivered. A loader that reads ahead is in the next epoch already when
// one ends. A value.
struct EpochReads {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t asked = 0;
  uint64_t fetched = 0;
};

// What the page cache held of the training data, by a sample of the files, and what was read in its
// place. A value.
struct CacheEvidence {
  int64_t files_looked_at = 0;
  std::optional<double> resident_before;  // share of bytes, before the first epoch
  std::optional<double> resident;         // after the last one that ended
  PageCache wanted = PageCache::as_is;
  // In their order, neighbours of the same state as one (add_epochs()). Empty: not known.
  std::vector<EpochReads> epochs{};
};

// What the training loop publishes, step by step. The trainer's thread writes, any thread reads.
// Takes a lock for every publication, none per sample.
//
// The order of the calls is that of a run: describe(), set_phase(train), then for every step
// set_loss() where the loss was read and publish(); between steps set_phase(eval), add_evaluated()
// for each batch, add_evaluation() and set_phase(train) again; at the end end_loop(), and when the
// last checkpoint is where it belongs, end().
class RunMeter {
 public:
  // Says what the run is. Once, before the loop. Sinks that are made later find it in state().info.
  void describe(const RunInfo& info);
  // The run does something else now. The first `train` is the begin of the loop: the kernel's
  // counters are read then.
  void set_phase(RunPhase phase);
  // What all ranks came to so far, in their order.
  void set_ranks(std::vector<RankTimes> ranks);
  // Says that something moved on: a step, a batch of the evaluation. /healthz looks at the time
  // since (State::stalled_s).
  void beat();
  // Call it after every step. queue_fill: how full the queue before the trainer is. totals: since
  // the loop began, never less than those of the call before; a call without a further step updates
  // the times only.
  void publish(const RunTotals& totals, std::optional<double> queue_fill);
  void set_first_batch(double seconds);  // since the loop began
  // The loss and the learning rate of the newest step whose loss was read. A loss that is not a
  // number is counted.
  void set_loss(double loss, double learning_rate);
  // An evaluation has ended; also one of before a resume, in order.
  void add_evaluation(const Evaluation& evaluation);
  // A batch of an evaluation is done.
  void add_evaluated(int64_t images);
  // Replaces what was known of the training's time over all its processes. Any thread.
  void set_goodput(const Goodput& goodput);
  // Replaces what was known of the page cache.
  void set_cache(const CacheEvidence& evidence);
  // One more sink could not write. Any thread.
  void sink_failed();
  // The share of the profiler's newest window in which no kernel ran.
  void set_window_idle(double share);
  // The loop has ended. rates: images/s of its windows, where it has any.
  void end_loop(const std::optional<Spread>& rates);
  // The run has ended: completed, stopped or failed. Called again where what follows fails.
  void end(RunPhase phase, int exit_code, const std::string& error);
  // Where the ledger says what the trainer is doing. Lives as long as the meter.
  LiveSegments& segments() { return segments_; }
  // Its state at the last publish(). It lives as long as the meter.
  const InputWait& input_wait() const { return input_wait_; }

  // A reading of everything, by one lock: its members belong to one moment, but `doing`.
  struct State {
    RunInfo info;
    RunPhase phase = RunPhase::setup;
    // The exit code of the program once the run has ended, and what went wrong. Empty: nothing went
    // wrong.
    std::optional<int> exit_code;
    std::string error;
    RunTotals totals;
    // From the begin of the loop to the first batch in the trainer's hands.
    std::optional<double> first_batch_s;
    // The trainer's time by segment until then.
    LiveSegments::Reading before_first_batch;
    // Of the first epoch of this process: its steps, and what the trainer waited for their data.
    int64_t first_epoch_steps = 0;
    double first_epoch_wait_s = 0;
    // What the last step took, and its images: what one that is under way may be taken for.
    double step_s = 0;
    int64_t step_images = 0;
    // The loss of the last step whose loss was read.
    std::optional<double> loss;
    std::optional<double> learning_rate;
    // Losses that were NaN or infinite, of those that were read.
    int64_t nonfinite_losses = 0;
    // Sinks that could not write and were left out.
    int64_t sinks_failed = 0;
    // The newest; one of before a resume, too.
    std::optional<Evaluation> evaluation;
    // Batches of all evaluations of this process, the one under way included.
    int64_t eval_batches = 0;
    int64_t eval_images = 0;
    // When the last step finished, by the system's clock.
    std::optional<double> last_step_unix_s;
    // Seconds since something moved on, without those in which the process stood still: the
    // heartbeat.
    double since_beat_s = 0;
    // Of these, the seconds in which the trainer did not wait for what has a time limit of its own:
    // a checkpoint (checkpoint.hang_seconds), the other ranks (distributed.timeout).
    double stalled_s = 0;
    // When the phase first was `train`, and when the run ended.
    std::optional<TimePoint> loop_begin;
    std::optional<TimePoint> ended;
    // The kernel's counters at the begin and at the end of the loop; the latter absent until then.
    Machine at_begin;
    std::optional<Machine> at_end;
    // Images per second in windows of one second. Absent until the loop has ended, or if it was
    // shorter than a window.
    std::optional<Spread> window_rates;
    // What the trainer's thread is doing now, and its time by segment up to now.
    LiveSegments::Reading doing;
    // The times of all ranks in their order, when the last report was made. Empty with one rank.
    std::vector<RankTimes> ranks;
    // Times of steps, from the end of one to the end of the next, and of the trainer's waits in
    // them.
    Tally::Totals step_times;
    Tally::Totals data_waits;
    CacheEvidence cache;
    // Where the training stands over all its processes. Absent: nobody keeps it, as on other ranks
    // than the first.
    std::optional<Goodput> goodput;
    // The share of the profiler's newest window in which no kernel ran.
    std::optional<double> window_idle;
  };
  // Any thread. Copies some kilobytes: not for every sample.
  State state() const;
  // The run's course so far, oldest first; at most 512 points. Any thread.
  std::vector<HistoryPoint> history() const;
  // The evaluations so far, in order, those before a resume included; thinned where there are many
  // (Evaluations). Any thread.
  std::vector<Evaluation> evaluations() const;
  // The epoch of a step that was published. Absent: another process did the step, or it is still to
  // come.
  std::optional<int64_t> epoch_of(int64_t step) const;

 private:
  void moved_on();  // with the mutex held

  mutable std::mutex mutex_;
  State state_;
  TimePoint beat_ = Clock::now();
  LiveSegments::Reading at_beat_;
  Tally step_times_;
  Tally data_waits_;
  History history_;
  Evaluations evaluations_;
  std::vector<std::pair<int64_t, int64_t>> epochs_;  // first step of each, epoch
  LiveSegments segments_;
  InputWait input_wait_;
};

}  // namespace stoker
