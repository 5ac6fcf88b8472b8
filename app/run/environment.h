#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/core/error.h"
#include "io/device/device.h"

namespace stoker {

// The contents of environment.json: the machine, and the run's device, LibTorch's threads and the
// command line. Never throws for what is unknown.
nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir,
                                    int64_t threads);

// What `stoker environment` is asked for. A value.
struct EnvironmentArguments {
  bool json = false;
};

// `stoker environment`: prints the machine, its GPUs, and of each part of the program that may be
// missing whether it works here, or why not. ExitCode::ok, whatever is missing. Loads the driver
// and the program's own plug-ins, for the rest of the process.
ExitCode print_environment(const EnvironmentArguments& arguments);

}  // namespace stoker
