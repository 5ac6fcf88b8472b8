#pragma once

#include <string>

#include "io/core/error.h"

namespace stoker {

// `stoker healthcheck`: asks the run whose sink `prometheus` listens at `where` ("127.0.0.1:9464")
// whether it makes progress, and prints what it says. ExitCode::threshold: it does not. Throws
// Error(ExitCode::environment) where nobody answers.
ExitCode check_health(const std::string& where, bool json);

}  // namespace stoker
