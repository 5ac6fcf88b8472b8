#pragma once

#include <cstdint>
#include <string>

#include "app/tools/simulate/inputs.h"
#include "app/tools/size/size.h"
#include "io/core/error.h"

namespace stoker {

// What is known of the data and of what a sample costs, as inputs of a simulation. A value.
struct SizedData {
  SimulationInputs inputs;
  // Where decode_ms is from, in words: "measured on this machine: ...".
  std::string decoding;
  // Bytes of a decoded sample in a batch.
  uint64_t pixel_bytes = 0;
  // Of all samples. 0: nobody has said.
  uint64_t all_bytes = 0;
  // The tier of the run, if it was an emulated one.
  std::string own_tier;
};

// By the arguments: of a measured run, of a folder, or of "FORMAT,SIZE". With --measure, samples of
// the folder are decoded here. Throws as size_node().
SizedData sized_data(const SizeArguments& arguments);

// A tier by its name and figures. A value.
struct NamedTier {
  std::string name;
  SimulatedTier tier;
};

// A file that says what a tier can do: the YAML that `stoker bench storage --fit` prints, or all
// that it prints with --json. The name is the file's. `notify` is told where the fit was a bad one.
// Error(ExitCode::config) with the place; ExitCode::environment for a file that cannot be read.
NamedTier read_tier_file(const std::string& path, const Notify& notify);

}  // namespace stoker
