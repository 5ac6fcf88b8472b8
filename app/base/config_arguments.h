#pragma once

#include <string>
#include <vector>

namespace stoker {

// An experiment as a command line names it, and how the command prints its result. A command with
// more arguments has a struct of its own, derived from this one. A value.
struct ConfigArguments {
  // A YAML file. (`checkpoint`: also a directory.)
  std::string config;
  // Assignments (a.b=value) that replace what the file says, in their order.
  std::vector<std::string> overrides;
  // Print the result as JSON on standard output, instead of text.
  bool json = false;
};

}  // namespace stoker
