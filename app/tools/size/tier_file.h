#pragma once

#include <string>

#include "app/tools/simulate/inputs.h"
#include "io/core/error.h"

namespace stoker {

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
