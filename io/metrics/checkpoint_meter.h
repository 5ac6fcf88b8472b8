#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "io/metrics/run_facts.h"
#include "io/metrics/tally.h"
#include "io/metrics/tracer.h"

namespace stoker {

// Parts of a checkpoint's way: `blocked` is the trainer's (all it waited for one checkpoint),
// `snapshot` the copy into snapshot memory, `write` from the copy to the commit on the first tier,
// `save` from the offer to that commit, `drain` from the begin of the copy to the commit on the
// last tier.
enum class CheckpointPart { blocked, snapshot, write, save, drain, restore };
inline constexpr size_t kCheckpointParts = 6;
// "drain": the name in every sink. Valid for ever.
const char* to_string(CheckpointPart part);

// What checkpoint.drain_limit: auto did to the limit while a drain went on: it was raised, left as
// it is, or lowered; or it would have been lowered, had not the next save been so near.
enum class DrainDecision { raised, held, lowered, hurried };
inline constexpr size_t kDrainDecisions = 4;
// "raised": the name in every sink. Valid for ever.
const char* to_string(DrainDecision decision);

// What checkpoints cost and how they stand. Any thread.
class CheckpointMeter {
 public:
  // `tracer` outlives the meter and gets each part as an event of the calling thread.
  explicit CheckpointMeter(Tracer& tracer) : tracer_(tracer) {}

  // A part of the checkpoint of `step` has ended. bytes: what it moved; 0: not known. Takes a lock,
  // and records an event for traces.
  void finished(CheckpointPart part, TimePoint begin, TimePoint end, int64_t step,
                uint64_t bytes = 0);
  // How the run's checkpoints stand now.
  void set_status(const CheckpointReport& report);
  // How fast a drain may be, in bytes/s (infinite: as fast as it can), and by which share the input
  // was slower meanwhile; what was decided. Take no lock.
  void set_drain_limit(double bytes_per_s) { drain_limit_ = bytes_per_s; }
  void set_drain_slowdown(double share) { drain_slowdown_ = share; }
  void decided(DrainDecision decision) { ++drain_decisions_[static_cast<size_t>(decision)]; }

  // A reading, by one lock. Arrays are indexed by CheckpointPart.
  struct State {
    // How often, how long (seconds) and how many bytes.
    std::array<Tally::Totals, kCheckpointParts> parts;
    // How many seconds the newest one took. Absent: no such part has ended.
    std::array<std::optional<double>, kCheckpointParts> last_s;
    // Absent: the run has no checkpoints.
    std::optional<CheckpointReport> report;
    // When the newest good save ended, by the system's clock.
    std::optional<double> last_save_unix_s;
    // How many are under way now: snapshots, writes and drains only.
    std::array<int, kCheckpointParts> under_way{};
    // The limit of the drain under way, or of the last one, in bytes/s. Absent: no limit was set,
    // or no drain has begun.
    std::optional<double> drain_limit;
    // By how much the input was slower than usual while it lasted. Absent: it was not watched.
    std::optional<double> drain_slowdown;
    // By DrainDecision. Absent: as before.
    std::optional<std::array<int64_t, kDrainDecisions>> drain_decisions;
  };
  // Any thread, at any time.
  State state() const;

  // One part of one checkpoint. A value.
  struct Operation {
    CheckpointPart part;
    // On the clock of all measurements.
    TimePoint begin;
    TimePoint end;
    int64_t step;
    uint64_t bytes;  // 0: not known
  };
  // The newest ones, in the order in which they ended.
  // More of them are forgotten, the oldest first: their sums stay in the parts.
  static constexpr size_t kMaxOperations = 2000;
  std::vector<Operation> operations() const;

  // A part is under way until the end of the scope, so that a page shows it while it lasts. `meter`
  // outlives it; null: nobody watches.
  class UnderWay {
   public:
    UnderWay(CheckpointMeter* meter, CheckpointPart part) : meter_(meter), part_(part) { add(1); }
    ~UnderWay() { add(-1); }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    // Seen by state() at once.
    void add(int by) {
      if (meter_ != nullptr) meter_->under_way_[static_cast<size_t>(part_)] += by;
    }
    CheckpointMeter* const meter_;
    const CheckpointPart part_;
  };

 private:
  Tracer& tracer_;
  std::array<std::atomic<int>, kCheckpointParts> under_way_{};
  std::atomic<double> drain_limit_{std::numeric_limits<double>::infinity()};
  std::atomic<double> drain_slowdown_{std::numeric_limits<double>::quiet_NaN()};
  std::array<std::atomic<int64_t>, kDrainDecisions> drain_decisions_{};
  mutable std::mutex mutex_;
  std::array<Tally, kCheckpointParts> tallies_;
  State state_;
  std::deque<Operation> operations_;
};

}  // namespace stoker
