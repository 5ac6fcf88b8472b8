#include "app/tools/simulate/steady.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/tools/simulate/simulation.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

// Steps until the queues are filled, where they are not longer, and steps that count.
constexpr int64_t kFill = 6, kSteps = 12;

double rate(const SimulationInputs& inputs, int64_t workers) {
  return simulate_steady(with_workers(inputs, workers)).images_per_s;
}

// Without what one stage costs.
SimulationInputs without(SimulationInputs inputs, const std::string& stage) {
  SimulatedCosts& costs = inputs.options.workload.costs;
  if (stage == "storage") {
    costs.read_ms = 0;
    inputs.options.workload.data.tier.reset();
  } else if (stage == "decoding") {
    costs.decode_ms = 0;
  } else if (stage == "copy") {
    costs.copy_ms = 0;
  } else {
    costs.host_ms = 0;
  }
  return inputs;
}

}  // namespace

Steady simulate_steady(const SimulationInputs& inputs) {
  SimulationInputs own = inputs;
  const LoaderInfo loader = inputs.options.workload.loader.info();
  const int64_t ahead = loader.host_batches_ahead + loader.device_batches_ahead +
                        inputs.options.workload.costs.queue_depth;
  const int64_t fills = std::max(kFill, ahead + 2);
  own.options.workload.epochs = fills + kSteps + 1;
  own.options.workload.max_steps = fills;
  const SimulationResult fill = simulate_run(own);
  own.options.workload.max_steps = fills + kSteps;
  const SimulationResult all = simulate_run(own);
  const double took = all.wall_s - fill.wall_s;
  if (took <= 0) return {};
  return {static_cast<double>(all.images - fill.images) / took, (all.core_s - fill.core_s) / took};
}

SimulationInputs with_loader(SimulationInputs inputs, const std::vector<std::string>& options) {
  Component<Loader>& loader = inputs.options.workload.loader;
  loader = changed(loader, options);
  return inputs;
}

SimulationInputs with_workers(SimulationInputs inputs, int64_t workers) {
  return with_loader(std::move(inputs), {fmt::format("workers={}", workers)});
}

double device_rate(SimulationInputs inputs) {
  SimulatedWorkload& workload = inputs.options.workload;
  workload.costs.read_ms = workload.costs.decode_ms = 0;
  workload.data.tier.reset();
  return simulate_steady(inputs).images_per_s;
}

int64_t workers_at_work(const SimulationInputs& inputs, double images_per_s) {
  const SimulatedWorkload& workload = inputs.options.workload;
  double sample_s = (workload.costs.read_ms + workload.costs.decode_ms) / 1e3;
  if (workload.data.tier) {
    const SimulatedTier& tier = inputs.options.machine.storage.at(workload.data.tier->name);
    sample_s += seconds(tier.figures.costs().read_latency);
  }
  const double each = images_per_s / static_cast<double>(inputs.options.machine.ranks());
  return std::clamp<int64_t>(std::llround(std::ceil(each * sample_s)), 1, kMostWorkers);
}

// More, as long as they help; then as few as do the same.
WorkerChoice fewest_workers(const SimulationInputs& inputs, int64_t first, double demand) {
  WorkerChoice choice{first, rate(inputs, first)};
  while (choice.images_per_s < kHolds * demand && choice.workers < kMostWorkers) {
    const int64_t more = std::min(kMostWorkers, choice.workers + (choice.workers + 1) / 2);
    const double found = rate(inputs, more);
    if (found < 1.01 * choice.images_per_s) break;
    choice = {more, found};
  }
  const bool holds = choice.images_per_s >= kHolds * demand;
  const double enough = kHolds * (holds ? demand : choice.images_per_s);
  for (int64_t least = 1; least < choice.workers;) {
    const int64_t middle = (least + choice.workers) / 2;
    const double found = rate(inputs, middle);
    if (found < enough) {
      least = middle + 1;
    } else {
      choice = {middle, found};
    }
  }
  return choice;
}

StageGain binding_stage(const SimulationInputs& inputs) {
  const double now = simulate_steady(inputs).images_per_s;
  if (now >= kHolds * device_rate(inputs)) return {"device", now};
  StageGain most{"trainer", now};
  for (const char* stage : {"storage", "decoding", "copy", "trainer"}) {
    const double found = simulate_steady(without(inputs, stage)).images_per_s;
    if (found > most.images_per_s) most = {stage, found};
  }
  return most;
}

}  // namespace stoker
