#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
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

}  // namespace stoker
