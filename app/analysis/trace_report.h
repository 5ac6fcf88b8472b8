#pragma once

#include <string>

#include "io/core/error.h"

namespace stoker {

// `stoker trace`: prints the figures that a run's trace.json gives beside those of its
// summary.json. run: its directory.
ExitCode compare_with_trace(const std::string& run, bool json);

}  // namespace stoker
