#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics/checkpoint_meter.h"
#include "io/metrics/clock.h"
#include "io/metrics/loader_meter.h"
#include "io/metrics/run_meter.h"
#include "io/metrics/tier_meter.h"
#include "io/metrics/tracer.h"

namespace stoker {

// A session of the I/O profiler that has ended. Its references are valid during the call.
struct IoSessionReport {
  const std::string& name;  // of its log, without the ending: "io_profile-5"
  const std::string& json;  // as profile_json() has it
  int64_t step = 0;         // how many were done when it ended
  TimePoint begin;
  const std::vector<TraceRow>& rows;  // one for each file: file_lanes()
};

// Hands the sessions that have ended to the sinks that want them. Any thread.
class IoSessionFeed {
 public:
  // Called for one session after the other, on the thread that writes their logs. What it throws
  // ends the sessions, so a sink says itself what it cannot write (MetricsSink::Inputs::failed).
  using Consumer = std::function<void(const IoSessionReport&)>;

  // Until it is destroyed, which waits for a call under way, the consumer gets what ends. It must
  // not outlive the feed.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class IoSessionFeed;
    Subscription(IoSessionFeed& feed, Consumer consumer)
        : feed_(feed), consumer_(std::move(consumer)) {}
    IoSessionFeed& feed_;
    const Consumer consumer_;
  };
  std::unique_ptr<Subscription> subscribe(Consumer consumer);

  void ended(const IoSessionReport& report);
  // The newest session's json. Empty: no session has ended yet.
  std::string newest() const;

 private:
  std::mutex calls_;  // held while consumers are called; before mutex_
  std::vector<const Subscription*> subscriptions_;
  mutable std::mutex mutex_;
  std::string newest_;
};

// Which part of measuring costs time: spans of loaders and tiers, the trainer's bookkeeping of a
// step, the sinks, answering scrapes. Measuring is part of what it measures: its own cost is a
// figure (overhead_s).
enum class Overhead { spans, step, sinks, scrape };
inline constexpr size_t kOverheads = 4;
// "spans": the name in every sink. Valid for ever.
const char* to_string(Overhead part);

struct RunRecord;

// Everything that is measured in one process: components write into its meters, sinks read them.
// Made before all components and gone after them. Any thread.
//
//   components ── meters ──┐
//   trainer ──── RunMeter ─┴─ Hub ── record() ── figures ── sinks
//                     events ─ Tracer ── subscribers
class Hub {
 public:
  // Measures for some tens of microseconds what one reading of the clock and one tally cost.
  Hub();

  // The meters live as long as the hub. Who may write through them is said where they are declared.
  RunMeter& run() { return run_; }
  const RunMeter& run() const { return run_; }
  CheckpointMeter& checkpoints() { return checkpoints_; }
  const CheckpointMeter& checkpoints() const { return checkpoints_; }
  LoaderMeter& train_loader() { return train_; }
  LoaderMeter& test_loader() { return test_; }
  Tracer& tracer() { return tracer_; }
  const Tracer& tracer() const { return tracer_; }
  // A meter for a tier; valid as long as the hub.
  TierMeter& add_tier(const std::string& name, const std::string& type, bool emulated);

  // In the order in which they were added.
  std::vector<TierMeter::State> tiers() const;
  // The loop has ended (RunMeter::end_loop). What loaders still read ahead is no part of the run:
  // from now on records have the loaders, the reads of tiers that are only read and the cost of
  // measuring as they are here, so that all who look at the run see the same; and what a cache says
  // of its reads. Tiers that are written go on, for drains read them, and so do caches that fill.
  void end_loop(const std::optional<Spread>& rates);

  // All that is known now. Asks the kernel, too: tens of files of /proc. Milliseconds; a second
  // thread may ask at the same time.
  RunRecord record() const;
  // What the trainer and the checkpoints publish: cheap enough for every step. The rest is empty.
  RunRecord step_record() const;

  // Sessions of the I/O profiler, for whoever ends them and whoever shows them.
  IoSessionFeed& io_sessions() { return io_sessions_; }
  const IoSessionFeed& io_sessions() const { return io_sessions_; }

  // Adds time that was spent on measuring. Spans (operations of tiers, stages of loaders) are not
  // timed one by one: the cost of one was measured when the hub was made, and spans are counted.
  void add_overhead(Overhead part, Clock::duration took);

 private:
  // Seconds by part, since the hub was made.
  std::array<double, kOverheads> overhead_s() const;

  Tracer tracer_;
  RunMeter run_;
  CheckpointMeter checkpoints_{tracer_};
  LoaderMeter train_{"train", tracer_};
  LoaderMeter test_{"test", tracer_};
  IoSessionFeed io_sessions_;
  // Of when the loop ended.
  struct AtEnd {
    std::vector<LoaderMeter::State> loaders;  // train, test
    std::vector<TierMeter::State> tiers;
    std::array<double, kOverheads> overhead_s{};
  };

  mutable std::mutex mutex_;
  std::optional<AtEnd> at_end_;
  // A deque, so that meters stay where they are while others are added.
  std::deque<TierMeter> tiers_;
  std::array<std::atomic<int64_t>, kOverheads> overhead_ns_{};
  double clock_s_ = 0;  // of one reading
  double tally_s_ = 0;
};

// Adds the time from here to the end of the scope to the overhead. One thread.
class MeasuringScope {
 public:
  // `hub` outlives it.
  MeasuringScope(Hub& hub, Overhead part) : hub_(hub), part_(part) {}
  ~MeasuringScope() { hub_.add_overhead(part_, Clock::now() - begin_); }
  MeasuringScope(const MeasuringScope&) = delete;
  MeasuringScope& operator=(const MeasuringScope&) = delete;

 private:
  Hub& hub_;
  const Overhead part_;
  const TimePoint begin_ = Clock::now();
};

}  // namespace stoker
