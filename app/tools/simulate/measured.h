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

// Of the directory of a run that has ended. Error as read_run(), and ExitCode::data for one that
// has made no step, or of which something is missing.
MeasuredInputs measured_inputs(const std::string& directory);

}  // namespace stoker
