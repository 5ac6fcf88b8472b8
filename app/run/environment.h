#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/run/version.h"
#include "io/device/device.h"

namespace stoker {

// The contents of environment.json: what a run's figures depend on besides its configuration.
// Versions, revision, CPU, device, kernel, file system of `run_dir`, host, command line. What this
// system does not say is "unknown". Never throws for it.
nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir);

// What version_line() says, as names and values: the labels of the build in the record of a run.
std::vector<std::pair<std::string, std::string>> build_labels();

}  // namespace stoker
