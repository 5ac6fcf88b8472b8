#pragma once

#include <string>

#include "io/core/error.h"

namespace stoker {

// What `stoker healthcheck` is asked for. A value.
struct HealthArguments {
  std::string address = "127.0.0.1:9464";  // where the run's sink `prometheus` listens
  bool json = false;
};

// `stoker healthcheck`: asks that run whether it makes progress, and prints what it says.
// ExitCode::threshold: it does not. Error(ExitCode::config) for what is no address,
// Error(ExitCode::environment) where nobody answers within three seconds.
ExitCode check_health(const HealthArguments& arguments);

}  // namespace stoker
