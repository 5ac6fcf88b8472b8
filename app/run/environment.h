#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/device/device.h"

namespace stoker {

// What a run's figures depend on besides its configuration: versions, revision, CPU, device,
// kernel, file system of `run_dir`, host, command line. For environment.json.
nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir);

// "stoker 0.1.0 (LibTorch 2.11.0, GCC 12.2.0, Release, revision abc1234)"
std::string version_line();

// The same as names and values.
std::vector<std::pair<std::string, std::string>> build_labels();

}  // namespace stoker
