#pragma once

#include <string>
#include <vector>

namespace stoker {

// An experiment as a command line names it: a YAML file, and assignments (a.b=value) in the place
// of what it says. A value.
struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;
};

}  // namespace stoker
