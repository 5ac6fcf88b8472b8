#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "app/tools/simulate/event_queue.h"
#include "app/tools/simulate/inputs.h"

namespace stoker {

// The cores of the nodes. Threads that compute share those of their node equally, as under the
// kernel's scheduler: of n threads on c cores, each goes on at min(1, c / n) of its speed. One
// thread.
//
// A job is what one thread computes until it next waits. Its owner is a number of the caller's.
class SimulatedCores {
 public:
  // Without machine.cores nobody is in another's way, and nothing may be begun here.
  SimulatedCores(const SimulatedMachine& machine, EventQueue& events);

  bool limited() const { return cores_ > 0; }
  // A thread of the node has `work` to compute, in the time of one core. now: never before what
  // this or go_on() was told last.
  void begin(SimTime now, int64_t node, SimTime work, uint32_t owner);
  // By an event of kind `core`, whose number is the node's. The owner of a job that has ended now:
  // there may be no such job.
  std::optional<uint32_t> go_on(size_t node, SimTime now);

 private:
  // A job ends when its node's threads have computed so much each.
  struct Job {
    double end;
    uint64_t order;  // equal jobs end as they began
    uint32_t owner;
    bool operator>(const Job& other) const {
      return end != other.end ? end > other.end : order > other.order;
    }
  };
  struct Node {
    std::priority_queue<Job, std::vector<Job>, std::greater<>> jobs;
    double computed = 0;  // ns that each thread would have computed since the begin
    SimTime at = 0;       // when
    SimTime event = -1;   // the next one that counts
  };
  double speed(const Node& node) const;
  void pass(Node& node, SimTime now) const;
  void announce(size_t number, Node& node);

  const double cores_;
  EventQueue& events_;
  std::vector<Node> nodes_;
  uint64_t begun_ = 0;
};

}  // namespace stoker
