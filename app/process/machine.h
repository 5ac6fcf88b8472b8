#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stoker {

// What figures depend on besides a configuration and a device: versions, revision, system, host,
// CPU, memory, the file system of `path`. What this system does not say is "unknown", which is
// never an error. Any thread.
nlohmann::json describe_machine(const std::string& path);

}  // namespace stoker
