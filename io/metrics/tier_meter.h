#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
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
const char* to_string(TierOp op);

// The operations of one tier, as their callers saw them. Any thread.
class TierMeter {
 public:
  TierMeter(std::string name, std::string type, bool emulated, Tracer& tracer)
      : name_(std::move(name)), type_(std::move(type)), emulated_(emulated), tracer_(tracer) {}

  void finished(TierOp op, TimePoint begin, uint64_t bytes);
  // errno_value 0: no system call failed.
  void failed(TierOp op, int errno_value);
  // Operations under way.
  void begin() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void end() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

  // How many operations were recorded.
  int64_t spans() const;

  struct State {
    std::string name;
    std::string type;
    bool emulated = false;
    int64_t in_flight = 0;
    std::array<Tally::Totals, kTierOps> ops;
    std::map<std::pair<TierOp, int>, int64_t> errors;  // by operation and errno
  };
  State state() const;

 private:
  using Tallies = std::array<Tally, kTierOps>;
  const std::string name_;
  const std::string type_;
  const bool emulated_;
  Tracer& tracer_;
  ThreadSlots<Tallies> tallies_;
  std::atomic<int64_t> in_flight_{0};
  mutable std::mutex mutex_;
  std::map<std::pair<TierOp, int>, int64_t> errors_;
};

}  // namespace stoker
