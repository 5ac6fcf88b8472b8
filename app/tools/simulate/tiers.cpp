#include "app/tools/simulate/tiers.h"

#include <algorithm>
#include <chrono>
#include <memory>

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
    tiers_.push_back({options, models_.size()});
    TierCosts costs = options.figures.costs();
    const int64_t devices = options.stripes * (options.per_node ? machine.nodes : 1);
    for (int64_t i = 0; i < devices; ++i) {
      costs.seed = mix(seed, tiers_.size(), static_cast<uint64_t>(i));
      models_.emplace_back(TierDevice(costs, std::make_shared<TierShare>()), nullptr,
                           no_lateness());
    }
  }
}

template <class T>
uint32_t SimulatedTiers::place(std::vector<T>& all, std::vector<uint32_t>& free) {
  if (free.empty()) {
    all.emplace_back();
    return static_cast<uint32_t>(all.size() - 1);
  }
  const uint32_t at = free.back();
  free.pop_back();
  return at;
}

std::optional<SimulatedTiers::Finished> SimulatedTiers::begin(SimTime now, size_t tier,
                                                              int64_t node,
                                                              const TierOperation& operation,
                                                              uint32_t owner) {
  const auto& [options, first_model] = tiers_[tier];
  const auto devices = static_cast<uint64_t>(options.stripes);
  const uint64_t stripe = options.stripe_bytes.bytes;
  const uint64_t stripes = std::max<uint64_t>(1, (operation.bytes + stripe - 1) / stripe);
  const uint64_t count = std::min(static_cast<uint64_t>(options.stripe_count), stripes);
  const auto width = static_cast<uint64_t>(options.stripe_count);
  const uint64_t base = devices == 1 ? 0 : scramble(operation.object + kGoldenGamma) % devices;
  const uint64_t at = operation.offset / stripe % width;
  const size_t models = first_model + (options.per_node ? static_cast<size_t>(node) * devices : 0);
  if (operation.kind == TierOperation::Kind::read) bytes_read_ += operation.bytes;

  const uint32_t request = place(requests_, free_requests_);
  requests_[request] = {owner, static_cast<uint32_t>(count), now};
  std::optional<Finished> finished;
  for (uint64_t i = 0; i < count; ++i) {
    TierOperation own = operation;
    own.bytes = operation.bytes * (i + 1) / count - operation.bytes * i / count;
    own.offset = operation.offset / width;
    TierModel& model = models_[models + (base + (at + i) % width) % devices];
    const uint32_t part = place(parts_, free_parts_);
    parts_[part] = {model.enter(time_point(now), own), request, &model};
    if (parts_[part].passage.left == 0) {
      finished = passed(part);
    } else {
      events_.add(sim_time(parts_[part].passage.at), SimEventKind::part, part);
    }
  }
  return finished;
}

std::optional<SimulatedTiers::Finished> SimulatedTiers::go_on(size_t part) {
  Part& on_way = parts_[part];
  on_way.model->go_on(on_way.passage);
  if (on_way.passage.left == 0) return passed(static_cast<uint32_t>(part));
  events_.add(sim_time(on_way.passage.at), SimEventKind::part, part);
  return std::nullopt;
}

// What is left of a request when one part knows its end.
std::optional<SimulatedTiers::Finished> SimulatedTiers::passed(uint32_t part) {
  const uint32_t number = parts_[part].request;
  Request& request = requests_[number];
  request.end = std::max(request.end, sim_time(parts_[part].passage.at));
  free_parts_.push_back(part);
  if (--request.parts_left > 0) return std::nullopt;
  free_requests_.push_back(number);
  return Finished{request.owner, request.end};
}

}  // namespace stoker
