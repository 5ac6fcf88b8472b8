#pragma once

#include <cstdint>
#include <string>

#include "app/tools/simulate/inputs.h"

// What the middle of a run does, and what of it a number of workers decides: the questions that
// `stoker size` and `stoker tune` ask of the same engine. Pure functions; any thread. Error(config)
// as simulate_run().

namespace stoker {

// What a run does once its queues are filled: of all nodes together. A value.
struct Steady {
  double images_per_s = 0;
  double busy_cores = 0;
};
Steady simulate_steady(const SimulationInputs& inputs);

// Whether a rate is as good as one that was wanted.
inline constexpr double kHolds = 0.97;
inline constexpr int64_t kMostWorkers = 512;

// The inputs with other options of the loader: "workers=4", "type=sync".
SimulationInputs with_loader(SimulationInputs inputs, const std::vector<std::string>& options);
SimulationInputs with_workers(SimulationInputs inputs, int64_t workers);

// What the devices of all nodes take, if nothing has to be loaded.
double device_rate(SimulationInputs inputs);

// A number of workers of each rank, and what it gives. A value.
struct WorkerChoice {
  int64_t workers = 0;
  double images_per_s = 0;
};
// Those of each rank that have to be at work at one time for this rate, were there no queue
// anywhere.
int64_t workers_at_work(const SimulationInputs& inputs, double images_per_s);
// The fewest workers that hold `demand`, or that hold the most that any number gives. Begins with
// `first`.
WorkerChoice fewest_workers(const SimulationInputs& inputs, int64_t first, double demand);

// One cost of a step, and what the run would do without it. A value.
struct StageGain {
  // "device", "storage", "decoding", "copy" or "trainer"
  std::string stage;
  double images_per_s = 0;
};
// What holds the run back most: "device" where it gets all that it takes, else the stage without
// which the rate would be highest.
StageGain binding_stage(const SimulationInputs& inputs);

}  // namespace stoker
