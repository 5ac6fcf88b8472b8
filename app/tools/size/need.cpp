#include "app/tools/size/need.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/tools/simulate/steady.h"

namespace stoker {
namespace {

SimulationInputs with_tier(SimulationInputs inputs, const NamedTier& tier) {
  inputs.options.machine.storage[tier.name] = tier.tier;
  inputs.options.workload.data.tier = TierName{tier.name};
  return inputs;
}

class Search {
 public:
  Search(const SizeArguments& arguments, SimulationInputs inputs, double demand)
      : asked_(arguments.workers), inputs_(std::move(inputs)), demand_(demand) {}

  // tier: null where no tier is read.
  TierNeed find(const NamedTier* tier) const {
    const SimulationInputs inputs = tier == nullptr ? inputs_ : with_tier(inputs_, *tier);
    TierNeed need;
    need.name = tier == nullptr ? "" : tier->name;
    if (asked_) {
      need.workers = *asked_;
      need.images_per_s = rate(inputs, *asked_);
    } else {
      const WorkerChoice fewest = fewest_workers(inputs, workers_at_work(inputs, demand_), demand_);
      need.workers = fewest.workers;
      need.images_per_s = fewest.images_per_s;
    }
    need.holds = need.images_per_s >= kHolds * demand_;
    need.binds = need.holds ? "the GPUs" : binding(inputs, need);
    if (need.binds == "the tier" && !asked_) choose_devices(*tier, need);
    return need;
  }

 private:
  static double rate(const SimulationInputs& inputs, int64_t workers) {
    return simulate_steady(with_workers(inputs, workers)).images_per_s;
  }

  // As many as their number says, and then some: not all are busy at all times.
  void choose_devices(NamedTier tier, TierNeed& need) const {
    auto devices =
        static_cast<int64_t>(std::ceil(demand_ / need.images_per_s)) * tier.tier.layout.stripes;
    for (int attempt = 0; attempt < 4; ++attempt, devices += (devices + 2) / 3) {
      tier.tier.layout.stripes = devices;
      const SimulationInputs inputs = with_tier(inputs_, tier);
      const WorkerChoice found = fewest_workers(inputs, workers_at_work(inputs, demand_), demand_);
      if (found.images_per_s < kHolds * demand_) continue;
      need.devices = devices;
      need.workers_of_devices = found.workers;
      return;
    }
  }

  std::string binding(const SimulationInputs& inputs, const TierNeed& need) const {
    constexpr double kBetter = 1.03;
    SimulationInputs cores = inputs;
    cores.options.machine.cores.reset();
    if (inputs.options.machine.cores && rate(cores, need.workers) > kBetter * need.images_per_s) {
      return "the cores";
    }
    const bool more = rate(inputs, 2 * need.workers) > kBetter * need.images_per_s;
    return more ? "the workers" : need.name.empty() ? "the cores" : "the tier";
  }

  const std::optional<int64_t> asked_;
  const SimulationInputs inputs_;
  const double demand_;
};

}  // namespace

NodeNeed node_need(const SizeArguments& arguments, const SimulationInputs& given,
                   uint64_t pixel_bytes, const std::vector<NamedTier>& tiers,
                   const std::function<void(int64_t, int64_t)>& progress) {
  SimulationInputs inputs = given;
  SimulatedMachine& machine = inputs.options.machine;
  SimulatedWorkload& workload = inputs.options.workload;
  if (workload.loader.info().workers == 0) {
    workload.loader = changed(workload.loader, {"type=prefetched"});
  }
  machine.cores.reset();
  const double demand = device_rate(inputs);
  workload.data.tier.reset();
  const auto nodes = static_cast<double>(machine.nodes);
  const double trainers = arguments.trainer_cores * static_cast<double>(machine.ranks_per_node);

  NodeNeed need;
  need.images_per_s = demand / nodes;
  const SimulatedCosts& costs = workload.costs;
  const double loaded_s = costs.core_share * (costs.read_ms + costs.decode_ms) / 1e3;
  const Steady computing = simulate_steady(with_workers(inputs, kMostWorkers));
  need.busy_cores = std::max(need.images_per_s * loaded_s,
                             costs.step_cores > 0 ? computing.busy_cores / nodes : 0.0);
  need.cores = std::ceil(need.busy_cores + trainers - 1e-9);
  const double bytes = static_cast<double>(workload.data.sample_bytes.bytes);
  need.mb_per_s = 1e-6 * need.images_per_s * bytes;
  need.requests_per_s =
      need.images_per_s * static_cast<double>(workload.data.requests + workload.data.metadata);
  const LoaderInfo loader = workload.loader.info();
  // One is at the GPU, and one is being filled.
  const int64_t begun = (loader.samples_ahead + loader.batch_size - 1) / loader.batch_size;
  const int64_t batches = loader.host_batches_ahead + begun + 2;
  need.batch_bytes =
      static_cast<uint64_t>(batches * loader.batch_size / machine.nodes) * pixel_bytes;

  if (arguments.cores) machine.cores = std::max(0.01, *arguments.cores - trainers);
  const Search search(arguments, inputs, demand);
  need.cached = search.find(nullptr);
  for (const NamedTier& tier : tiers) {
    progress(std::ssize(need.tiers), std::ssize(tiers));
    need.tiers.push_back(search.find(&tier));
  }
  progress(std::ssize(tiers), std::ssize(tiers));
  return need;
}

}  // namespace stoker
