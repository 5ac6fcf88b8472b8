#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/metrics/tally.h"
#include "io/metrics/thread_slots.h"
#include "io/metrics/tracer.h"

namespace stoker {

// What is done on a tier: on whole objects (list, read, append, commit, remove) and on the files of
// checkpoints (all but list and append).
enum class TierOp {
  list,
  open,
  create,
  read,
  write,
  sync,
  rename,
  remove,
  stat,
  other  // locks, reserved space, truncation, directories
};
inline constexpr size_t kTierOps = 10;
// "read": the name in every sink. Valid for ever.
const char* to_string(TierOp op);
bool moves(TierOp op);  // reads and writes: those with bytes

// Inclusive upper bounds of request sizes in bytes: those of Darshan, so that a histogram can be
// laid beside one of its.
inline constexpr std::array<uint64_t, 9> kSizeBounds{100,          1ull << 10,   10ull << 10,
                                                     100ull << 10, 1ull << 20,   4ull << 20,
                                                     10ull << 20,  100ull << 20, 1ull << 30};
using SizeCounts = std::array<int64_t, kSizeBounds.size() + 1>;  // the last has no bound
// Where a request or a file of `bytes` bytes is counted. Pure.
constexpr size_t size_bucket(int64_t bytes) {
  size_t i = 0;
  while (i < kSizeBounds.size() && bytes > static_cast<int64_t>(kSizeBounds[i])) ++i;
  return i;
}

// The operations of one tier, as their callers saw them. A wrapped tier (emulated, cached) has a
// meter of its own, and what is inside another. Any thread. Lives as long as the hub.
//
//   const TimePoint begin = Clock::now();
//   meter.begin(TierOp::read, begin);
//   try {
//     ... = read(...);
//     meter.end(TierOp::read, meter.finished(TierOp::read, begin, bytes));
//   } catch (const IoError& error) {
//     meter.failed(TierOp::read, error.errno_value());
//     meter.end(TierOp::read, Clock::now());
//     throw;
//   }
class TierMeter {
 public:
  // name: the tier's in the configuration. type: its component's. `tracer` outlives the meter.
  TierMeter(std::string name, std::string type, bool emulated, Tracer& tracer)
      : state_{.name = std::move(name), .type = std::move(type), .emulated = emulated},
        tracer_(tracer) {}

  // As the configuration calls the tier.
  const std::string& name() const { return state_.name; }
  // An operation that began at `begin` ends now; returns when that was. bytes: what it moved; 0
  // where it moves none. Only for one that succeeded.
  TimePoint finished(TierOp op, TimePoint begin, uint64_t bytes);
  // An operation failed. errno_value 0: no system call did (a short read).
  void failed(TierOp op, int errno_value);
  // Call these two around each operation, also one that fails. The times between them make busy_s;
  // in_flight is how many are between them.
  void begin(TierOp op, TimePoint begin);
  void end(TierOp op, TimePoint end);
  // An emulated tier's operation took longer than its model says, because the tier below did. `by`
  // is the difference. The tier's figures are too low then.
  void overran(Clock::duration by);
  // An emulated tier let the caller of such an operation wait after the tier below had done it.
  void waited(TierOp op, Clock::duration time);
  // So many processes use the emulated device now, this one included.
  void used_by(int64_t processes);
  // Adds something that a reader of the tier's figures has to know ("O_DIRECT is not possible here:
  // through the page cache"). The same text counts once.
  void add_condition(const std::string& text);

  // For a tier that keeps copies of another's objects: a read was answered by a copy, or not.
  void cache_read(bool hit);
  // How many bytes of copies the tier holds, and may hold. Once at least, so that the figures of
  // the cache are there.
  void set_cache(uint64_t bytes, uint64_t limit);

  // For a tier whose late reads are sent a second time (io/storage/tail). set_hedged() once, so
  // that the figures are there; then each further read, each that was through first, and the bytes
  // that one brought.
  void set_hedged();
  void hedge_sent() { hedges_[0].fetch_add(1, std::memory_order_relaxed); }
  void hedge_won() { hedges_[1].fetch_add(1, std::memory_order_relaxed); }
  void hedge_moved(uint64_t bytes) {
    hedges_[2].fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  // A tier that speaks to a server may have so many requests in flight from now on.
  void set_most_in_flight(int64_t requests) {
    most_in_flight_.store(requests, std::memory_order_relaxed);
  }

  // How many operations were recorded, for the overhead. Any thread; it visits every thread's slot.
  int64_t spans() const;

  // For a tier that keeps copies: the reads that a copy answered and those that were passed on, and
  // the bytes that copies take and may take.
  struct Cache {
    int64_t hits = 0;
    int64_t misses = 0;
    uint64_t bytes = 0;
    uint64_t limit = 0;
  };
  // Reads that were sent a further time, how many of those were through first, and the bytes that
  // all of them brought.
  struct Hedges {
    int64_t sent = 0;
    int64_t won = 0;
    int64_t bytes = 0;
  };
  // What reads moved, or what writes moved. sizes: operations that succeeded, by the bytes that
  // they moved. busy_s: time during which at least one was under way.
  struct Moved {
    SizeCounts sizes{};
    double busy_s = 0;
  };
  // Seconds that callers waited for a model alone, summed over threads.
  struct Waits {
    double read_s = 0, write_s = 0, meta_s = 0;
  };
  // A reading. Its members may be of neighbouring moments.
  struct State {
    // The name in the configuration. A tier inside another is called "data.inner".
    std::string name;
    std::string type;
    // Its times are those of a model, and not of the machine.
    bool emulated = false;
    // Operations of all kinds that have begun and not ended.
    int64_t in_flight = 0;
    // By TierOp: how many succeeded, how long they took and what they moved.
    std::array<Tally::Totals, kTierOps> ops{};
    // By reads and by writes.
    std::array<Moved, 2> moved{};
    // For an emulated tier: how many operations took longer than its model says, and by how many
    // seconds together.
    int64_t overruns = 0;
    double overrun_s = 0;
    // Likewise: what the operations of the tier below did not take.
    Waits waits{};
    // How many processes used its device at a time, at most. 0: nobody counts them.
    int64_t processes = 0;
    // Absent: the tier keeps no copies.
    std::optional<Cache> cache{};
    // Absent: the tier sends no read twice.
    std::optional<Hedges> hedges{};
    // How many requests the tier may have in flight at a server. 0: it does not say.
    int64_t most_in_flight = 0;
    // What a reader of the figures has to know, in words.
    std::vector<std::string> conditions{};
    // How many failed, by operation and errno; 0: no system call did.
    std::map<std::pair<TierOp, int>, int64_t> errors{};
  };
  // Any thread, at any time.
  State state() const;

 private:
  // What one thread counts.
  struct Tallies {
    std::array<Tally, kTierOps> ops;
    std::array<std::array<std::atomic<int64_t>, kSizeBounds.size() + 1>, 2> sizes{};  // read, write
  };
  mutable std::mutex mutex_;
  State state_;  // what is not counted below; the name never changes
  Tracer& tracer_;
  ThreadSlots<Tallies> tallies_;
  std::atomic<int64_t> in_flight_{0};
  std::array<BusyClock, 2> busy_;  // reading, writing
  std::atomic<int64_t> overruns_{0};
  std::atomic<int64_t> overrun_ns_{0};
  std::array<std::atomic<int64_t>, 3> waited_ns_{};  // reading, writing, for metadata
  std::atomic<int64_t> processes_{0};
  std::array<std::atomic<int64_t>, 2> cache_reads_{};  // misses, hits
  std::array<std::atomic<int64_t>, 3> hedges_{};       // sent, won, bytes
  std::atomic<int64_t> most_in_flight_{0};
};

}  // namespace stoker
