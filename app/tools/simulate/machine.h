#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/tools/simulate/event_queue.h"
#include "app/tools/simulate/inputs.h"
#include "io/storage/emulated/tier_model.h"

namespace stoker {

// The tiers of a machine: the devices of emulated tiers (io/storage/emulated, the same code), which
// here are asked in a simulation's time. One thread.
//
// A request is an operation of an owner, which is an event whenever it goes on.
class SimulatedTiers {
 public:
  SimulatedTiers(const SimulatedMachine& machine, uint64_t seed, EventQueue& events);

  // The number of a tier, by its name in machine.storage.
  size_t find(const std::string& name) const { return numbers_.at(name); }

  // A request that has got through at `end`, which may lie ahead.
  struct Finished {
    uint32_t owner;
    SimTime end;
  };
  // node: that asks. owner: comes back with what is finished. Nothing: it is on its way.
  std::optional<Finished> begin(SimTime now, size_t tier, int64_t node,
                                const TierOperation& operation, uint32_t owner);
  // By an event of kind `request`.
  std::optional<Finished> go_on(size_t request);

  uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Tier {
    size_t first_model;  // the model of node 0
    bool per_node;
  };
  struct Request {
    TierPassage passage = {};
    uint32_t owner = 0;
    TierModel* model = nullptr;
  };

  EventQueue& events_;
  std::map<std::string, size_t> numbers_;
  std::vector<Tier> tiers_;
  std::deque<TierModel> models_;
  std::vector<Request> requests_;
  std::vector<uint32_t> free_;
  uint64_t bytes_read_ = 0;
};

// The page cache of each node: which objects it holds, least recently used out first. The kernel's
// is only about so: it looks at pages, and at other users of memory. One thread.
class PageCaches {
 public:
  // bytes: the size on each node. 0: nothing is kept.
  PageCaches(int64_t nodes, uint64_t bytes)
      : limit_(bytes), nodes_(bytes == 0 ? 0 : static_cast<size_t>(nodes)) {}

  // Whether the node holds it; from now on it does, if it fits at all.
  bool use(int64_t node, int64_t object, uint64_t bytes) {
    if (limit_ == 0) return false;
    Node& cache = nodes_[static_cast<size_t>(node)];
    const auto found = cache.places.find(object);
    if (found != cache.places.end()) {
      cache.objects.splice(cache.objects.begin(), cache.objects, found->second);
      return true;
    }
    if (bytes > limit_) return false;
    for (cache.held += bytes; cache.held > limit_; cache.objects.pop_back()) {
      cache.held -= cache.objects.back().bytes;
      cache.places.erase(cache.objects.back().object);
    }
    cache.objects.push_front({object, bytes});
    cache.places[object] = cache.objects.begin();
    return false;
  }

 private:
  struct Object {
    int64_t object;
    uint64_t bytes;
  };
  struct Node {
    std::list<Object> objects;  // the last one used first
    std::unordered_map<int64_t, std::list<Object>::iterator> places;
    uint64_t held = 0;
  };

  const uint64_t limit_;
  std::vector<Node> nodes_;
};

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
