#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "io/core/error.h"
#include "io/metrics/sink.h"
#include "io/sinks/shared.h"

namespace stoker {
namespace {

constexpr auto kSetupPoll = std::chrono::milliseconds(50);
constexpr double kShortestRow = 0.01;  // the last one, in seconds

struct TimelineOptions {
  double seconds = 1;
  template <class V>
  void visit(V& v) {
    v("seconds", seconds, "The seconds between two rows.", Limits{0.01, 3600});
  }
};

// Figures whose names depend on the tiers alone.
const std::vector<const Figure*>& chosen() {
  static const std::vector<const Figure*> figures = select_figures(
      {"elapsed_s", "now_unix_s", "images_per_s", "device.observed_s", "device.busy_share",
       "device.idle_share_by_cause.{cause}", "queue_fill", "checkpoints.saving",
       "checkpoints.draining", "checkpoints.drain_limit_bytes", "process.cores",
       "system.busy_share", "process.storage_read_mb_per_s", "process.storage_written_mb_per_s",
       "system.disk_read_mb_per_s", "system.disk_written_mb_per_s", "segments_share.{segment}",
       "tiers.{tier}.{op}.mb_per_s", "tiers.{tier}.{op}.operations_per_s"});
  return figures;
}

// timeline.csv in the run directory: a row per second, from the begin of the training loop until
// checkpoints and drains have ended too, written by a thread that only reads counters.
//
// Bytes count when their operation ends. Checkpoints are read and written in pieces of 8 MiB and a
// sample is one read, so an operation seldom lasts longer than a row. The trainer's shares are
// those of its ledger, and of what it is doing now where a step is under way; the device's are of
// the time that was observed since the row before, which ends with a step.
class Timeline final : public MetricsSink {
 public:
  using Options = TimelineOptions;
  Timeline(Options options, const Inputs& inputs)
      : options_(options),
        hub_(inputs.hub),
        failed_(inputs.failed),
        file_(inputs.run_dir + "/timeline.csv") {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  void flush() override {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "timeline");
    try {
      // What is read before the loop, such as a checkpoint, is in no row.
      do {
        last_ = hub_.record();
        if (sleep_until(Clock::now() + kSetupPoll, stop)) return;
      } while (!hub_.run().state().loop_begin);
      rows(stop);
    } catch (const Error& error) {
      failed_(error.what());
    }
  }

  void rows(const std::stop_token& stop) {
    const auto pause = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options_.seconds));
    TimePoint due = *hub_.run().state().loop_begin;
    while (!stop.stop_requested()) {
      // Rows that this thread came too late for are not made up for.
      for (due += pause; due < Clock::now();) due += pause;
      row(sleep_until(due, stop));
    }
  }

  // True: it is time to end.
  bool sleep_until(TimePoint due, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, stop, due, [&] { return stop.stop_requested(); });
    return stop.stop_requested();
  }

  // The last row says how the run ended, however short ago the one before it was.
  void row(bool last) {
    const MeasuringScope scope(hub_, Overhead::sinks);
    RunRecord now = with_step_under_way(hub_.record());
    const double passed = seconds(now.at - last_.at);
    if (last ? now.elapsed_s <= last_.elapsed_s : passed < kShortestRow) return;
    file_.add(figure_row(chosen(), now, between(last_, now)));
    last_ = std::move(now);
  }

  const Options options_;
  Hub& hub_;
  const Notify failed_;
  CsvFile file_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  RunRecord last_;
  std::jthread thread_;  // the last member: it uses all others
};

STOKER_REGISTER(MetricsSink, "timeline", Timeline);

}  // namespace
}  // namespace stoker
