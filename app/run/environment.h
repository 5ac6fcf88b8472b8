#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/run/version.h"
#include "io/device/device.h"

namespace stoker {

// What a run's figures depend on besides its configuration: versions, revision, CPU, device,
// kernel, file system of `run_dir`, host, command line. For environment.json.
nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir);

// What version_line() says, as names and values.
std::vector<std::pair<std::string, std::string>> build_labels();

}  // namespace stoker
