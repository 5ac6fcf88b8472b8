#pragma once

#include <string>

#include "io/core/error.h"

namespace stoker {

// `stoker trace`: prints the figures that a run's trace.json gives beside those of its
// summary.json. run: its directory. They are compared only where the trace says that it is whole.
// Error(ExitCode::environment) if there is no trace, or if this program did not write it.
ExitCode compare_with_trace(const std::string& run, bool json);

}  // namespace stoker
