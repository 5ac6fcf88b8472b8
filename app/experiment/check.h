#pragma once

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// `stoker check`: prints the configuration with every default, as YAML or JSON. Touches no data.
// Error(ExitCode::config) as read_experiment.
ExitCode check_experiment(const ConfigArguments& arguments);

}  // namespace stoker
