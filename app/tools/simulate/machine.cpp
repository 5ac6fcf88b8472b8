#include "app/tools/simulate/machine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
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

namespace {

constexpr double kDone = 0.5;  // ns: no time is told apart from another by less

}  // namespace

SimulatedCores::SimulatedCores(const SimulatedMachine& machine, EventQueue& events)
    : cores_(machine.cores.value_or(0)),
      events_(events),
      nodes_(machine.cores ? static_cast<size_t>(machine.nodes) : 0) {}

void SimulatedCores::begin(SimTime now, int64_t node, SimTime work, uint32_t owner) {
  const auto number = static_cast<size_t>(node);
  Node& own = nodes_[number];
  pass(own, now);
  own.jobs.push({own.computed + static_cast<double>(work), begun_++, owner});
  announce(number, own);
}

std::optional<uint32_t> SimulatedCores::go_on(size_t number, SimTime now) {
  Node& own = nodes_[number];
  if (now != own.event) return std::nullopt;  // another thread began or ended meanwhile
  own.event = -1;
  pass(own, now);
  std::optional<uint32_t> ended;
  if (!own.jobs.empty() && own.jobs.top().end <= own.computed + kDone) {
    ended = own.jobs.top().owner;
    own.jobs.pop();
  }
  announce(number, own);
  return ended;
}

double SimulatedCores::speed(const Node& node) const {
  return std::min(1.0, cores_ / static_cast<double>(node.jobs.size()));
}

void SimulatedCores::pass(Node& node, SimTime now) const {
  if (!node.jobs.empty()) node.computed += static_cast<double>(now - node.at) * speed(node);
  node.at = now;
}

// An event that comes too early finds no job at its end, and announces the next one.
void SimulatedCores::announce(size_t number, Node& node) {
  if (node.jobs.empty()) return;
  const double left = std::max(0.0, node.jobs.top().end - node.computed - kDone);
  const SimTime end = node.at + static_cast<SimTime>(std::ceil(left / speed(node)));
  if (node.event >= 0 && node.event <= end) return;
  node.event = end;
  events_.add(end, SimEventKind::core, number);
}

}  // namespace stoker
