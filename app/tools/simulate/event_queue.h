#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker {

// Time in a simulation: nanoseconds from its begin.
using SimTime = int64_t;

inline double sim_seconds(SimTime time) { return 1e-9 * static_cast<double>(time); }
inline SimTime sim_time(double seconds) { return static_cast<SimTime>(1e9 * seconds + 0.5); }

// What happens in a simulation, and to whom: `who` is the number of a request, a worker,
// a writer of checkpoints or a node: below 2^30.
enum class SimEventKind : uint32_t { request, item, checkpoint, core };

// 16 bytes, so that a queue of all workers of 9,216 ranks stays in a core's cache. A value.
struct SimEvent {
  SimTime time;
  uint32_t order;  // among those of one time: that in which they were added
  SimEventKind kind : 2;
  uint32_t who : 30;
};

// Events by time, first in first out among equals, so that a simulation is a function of its
// inputs. A binary heap that allocates only where it grows. One thread.
class EventQueue {
 public:
  void add(SimTime time, SimEventKind kind, size_t who) {
    SimEvent& event = heap_.emplace_back();
    event.time = time;
    event.order = added_++;
    event.kind = kind;
    event.who = static_cast<uint32_t>(who) & kMost;
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  SimTime next_time() const { return heap_.front().time; }
  SimEvent take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const SimEvent event = heap_.back();
    heap_.pop_back();
    ++taken_;
    return event;
  }
  // Events that have happened.
  uint64_t taken() const { return taken_; }

 private:
  static constexpr uint32_t kMost = (1u << 30) - 1;
  static bool later(const SimEvent& a, const SimEvent& b) {
    if (a.time != b.time) return a.time > b.time;
    return static_cast<int32_t>(a.order - b.order) > 0;  // the count may go round
  }

  std::vector<SimEvent> heap_;
  uint32_t added_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace stoker
