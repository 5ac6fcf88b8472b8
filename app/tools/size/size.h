#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker size` is asked for. `config`: the directory of a measured run; empty: `data` says
// what is read. Overrides change inputs of the simulation. A value.
struct SizeArguments : ConfigArguments {
  // Of one GPU. 0: as fast as the device of the run.
  double images_per_s = 0;
  // Of each node. 0: as many as the run had ranks, or 1.
  int64_t gpus = 0;
  int64_t nodes = 1;
  // A folder of data, or "FORMAT,SIZE".
  std::string data;
  // Samples of one GPU in a batch. 0: as the run, or 256.
  int64_t batch_size = 0;
  // Of one core, for a sample. Absent: by the run, by --measure, or assumed.
  std::optional<double> decode_ms;
  bool measure = false;
  // Of each node. Absent: as many as it needs.
  std::optional<double> cores;
  // Cores for the thread of each GPU that submits its steps.
  double trainer_cores = 1;
  // Workers of each GPU. Absent: as many as each tier needs.
  std::optional<int64_t> workers;
  // Files that say what a tier can do.
  std::vector<std::string> tiers;
};

// `stoker size`: what a number of GPUs need so that they do not wait for data. Prints cores,
// workers, memory, what the storage has to deliver, which tiers do that, and what binds first: a
// row each, with a sentence. The rates are those of the engine of `stoker simulate`.
// Error(ExitCode::config) where not enough is known of the data; else as measured_inputs() and
// read_simulation().
ExitCode size_node(const SizeArguments& arguments);

}  // namespace stoker
