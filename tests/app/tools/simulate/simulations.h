#pragma once

#include <string>

#include "app/tools/simulate/simulation.h"

namespace stoker {

// Inputs from YAML.
inline SimulationInputs simulation_of(const std::string& yaml) {
  return read_simulation(parse_yaml(yaml, "test.yaml"));
}

// 8 samples of 1 MB, batches of 4, two workers; 10 ms a decode; 100 ms a step. The values of
// `data`, `costs`, ... are the insides of mappings, and stand before those.
struct SmallSimulation {
  std::string loader = "{type: sync, batch_size: 4, workers: 2}";
  std::string data = "";
  std::string costs = "";
  std::string workload = "";
  std::string machine = "";
  int decode_ms = 10;
  int step_ms = 100;

  std::string yaml() const {
    return "workload: {" + workload + "loader: " + loader + ", data: {" + data +
           "samples: 40, sample_bytes: 1000000}, costs: {" + costs +
           "decode_ms: " + std::to_string(decode_ms) + ", step_ms: " + std::to_string(step_ms) +
           "}}\nmachine: {" + machine + "}\n";
  }
  SimulationResult run() const { return simulate_run(simulation_of(yaml())); }
};

}  // namespace stoker
