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

#include "io/metrics/busy_clock.h"
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
const char* to_string(TierOp op);

// Inclusive upper bounds of request sizes in bytes: those of Darshan, so that a histogram can be
// laid beside one of its.
inline constexpr std::array<uint64_t, 9> kSizeBounds{100,          1ull << 10,   10ull << 10,
                                                     100ull << 10, 1ull << 20,   4ull << 20,
                                                     10ull << 20,  100ull << 20, 1ull << 30};
using SizeCounts = std::array<int64_t, kSizeBounds.size() + 1>;  // the last has no bound

// The operations of one tier, as their callers saw them. Any thread. Lives as long as the hub.
class TierMeter {
 public:
  TierMeter(std::string name, std::string type, bool emulated, Tracer& tracer)
      : name_(std::move(name)), type_(std::move(type)), emulated_(emulated), tracer_(tracer) {}

  // An operation that began at `begin` ends now; returns when that was.
  TimePoint finished(TierOp op, TimePoint begin, uint64_t bytes);
  // An operation failed. errno_value 0: no system call did (a short read).
  void failed(TierOp op, int errno_value);
  // Call these two around each operation, also one that fails.
  void begin(TierOp op, TimePoint begin);
  void end(TierOp op, TimePoint end);
  // An emulated tier's operation took longer than its model says, by so much, because the tier
  // below did. The tier's figures are too low then.
  void overran(Clock::duration by);
  // Adds something that a reader of the tier's figures has to know ("O_DIRECT is not possible here:
  // through the page cache"). The same text counts once.
  void add_condition(const std::string& text);

  // For a tier that keeps copies of another's objects: a read was answered by a copy, or not.
  void cache_read(bool hit);
  // How many bytes of copies the tier holds, and may hold.
  void set_cache(uint64_t bytes, uint64_t limit);

  // How many operations were recorded, for the overhead.
  int64_t spans() const;

  struct Cache {
    int64_t hits = 0;
    int64_t misses = 0;
    uint64_t bytes = 0;
    uint64_t limit = 0;
  };
  struct State {
    std::string name;
    std::string type;
    bool emulated = false;
    int64_t in_flight = 0;
    std::array<Tally::Totals, kTierOps> ops;
    SizeCounts read_sizes{};
    SizeCounts write_sizes{};
    double read_busy_s = 0;  // time with at least one read under way
    double write_busy_s = 0;
    int64_t overruns = 0;
    double overrun_s = 0;
    std::optional<Cache> cache;  // absent: keeps no copies
    std::vector<std::string> conditions;
    std::map<std::pair<TierOp, int>, int64_t> errors;  // by operation and errno
  };
  State state() const;

 private:
  struct Tallies {
    std::array<Tally, kTierOps> ops;
    std::array<std::array<std::atomic<int64_t>, kSizeBounds.size() + 1>, 2> sizes{};  // read, write
  };
  const std::string name_;
  const std::string type_;
  const bool emulated_;
  Tracer& tracer_;
  ThreadSlots<Tallies> tallies_;
  std::atomic<int64_t> in_flight_{0};
  BusyClock reading_;
  BusyClock writing_;
  std::atomic<int64_t> overruns_{0};
  std::atomic<int64_t> overrun_ns_{0};
  std::array<std::atomic<int64_t>, 2> cache_reads_{};  // misses, hits
  mutable std::mutex mutex_;
  std::optional<Cache> cache_;
  std::vector<std::string> conditions_;
  std::map<std::pair<TierOp, int>, int64_t> errors_;
};

}  // namespace stoker
