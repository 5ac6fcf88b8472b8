#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"

namespace stoker {

// What a run says of a simulation's inputs, as their tree; each value has its source's name as its
// place. Sizes of samples are asked of the data set, which has to be where the run's configuration
// says. A value.
struct MeasuredInputs {
  Node tree;
  std::vector<uint64_t> sample_bytes;
};

// Reads the inputs from the directory of a run that has ended. Throws the errors of read_run(), and
// Error(ExitCode::data) if the run has made no step or something is missing.
MeasuredInputs measured_inputs(const std::string& directory);

}  // namespace stoker
