#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

// What figures depend on besides a configuration and a device: versions, revision, system, host,
// CPU, memory, the file system of `path`. What this system does not say is "unknown", which is
// never an error. Any thread.
nlohmann::json describe_machine(const std::string& path);

// What this is, and what it was built with and from:
// "stoker 0.1.0 (LibTorch 2.11.0, GCC 12.2.0, Release, revision abc1234)"
std::string version_line();

// What version_line() says, as names and values: the labels of the build in the record of a run.
std::vector<std::pair<std::string, std::string>> build_labels();

}  // namespace stoker
