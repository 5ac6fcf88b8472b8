#include "app/tools/simulate/tiers.h"

#include <chrono>
#include <memory>
#include <utility>

#include "io/core/random.h"

namespace stoker {
namespace {

TimePoint time_point(SimTime time) {
  return TimePoint(std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(time)));
}
SimTime sim_time(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Nobody is ever late in a simulation: a clock that stands still at its begin.
TierClock no_lateness() {
  return {[] { return TimePoint{}; }, [](TimePoint) {}};
}

}  // namespace

SimulatedTiers::SimulatedTiers(const SimulatedMachine& machine, uint64_t seed, EventQueue& events)
    : events_(events) {
  for (const auto& [name, options] : machine.storage) {
    numbers_[name] = tiers_.size();
    tiers_.push_back({models_.size(), options.per_node});
    TierCosts costs = options.figures.costs();
    uint64_t device = 0;
    for (int64_t node = 0; node < (options.per_node ? machine.nodes : 1); ++node) {
      std::vector<TierDevice> devices;
      for (int64_t i = 0; i < options.layout.stripes; ++i) {
        costs.seed = mix(seed, tiers_.size(), device++);
        devices.emplace_back(costs, std::make_shared<TierShare>());
      }
      models_.emplace_back(std::move(devices), options.layout, nullptr, no_lateness());
    }
  }
}

std::optional<SimulatedTiers::Finished> SimulatedTiers::begin(SimTime now, size_t tier,
                                                              int64_t node,
                                                              const TierOperation& operation,
                                                              uint32_t owner) {
  const auto& [first_model, per_node] = tiers_[tier];
  if (operation.kind == TierOperation::Kind::read) bytes_read_ += operation.bytes;
  TierModel& model = models_[first_model + (per_node ? static_cast<size_t>(node) : 0)];
  TierPassage passage = model.enter(time_point(now), operation);
  if (passage.left == 0) return Finished{owner, sim_time(passage.at)};
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const uint32_t request = free_.back();
  free_.pop_back();
  requests_[request] = {std::move(passage), owner, &model};
  events_.add(sim_time(requests_[request].passage.at), SimEventKind::request, request);
  return std::nullopt;
}

std::optional<SimulatedTiers::Finished> SimulatedTiers::go_on(size_t number) {
  Request& request = requests_[number];
  request.model->go_on(request.passage);
  const SimTime at = sim_time(request.passage.at);
  if (request.passage.left > 0) {
    events_.add(at, SimEventKind::request, number);
    return std::nullopt;
  }
  free_.push_back(static_cast<uint32_t>(number));
  return Finished{request.owner, at};
}

}  // namespace stoker
