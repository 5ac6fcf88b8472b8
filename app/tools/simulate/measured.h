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

// Whose sizes the samples have: each its own, for which the data set is listed, or all the mean of
// those that the run has read, for which its files are enough.
enum class SampleSizes { own, mean };

// Reads the inputs from the directory of a run that has ended. Throws the errors of read_run(), and
// Error(ExitCode::data) if the run has made no step or something is missing.
MeasuredInputs measured_inputs(const std::string& directory, SampleSizes sizes = SampleSizes::own);

}  // namespace stoker
