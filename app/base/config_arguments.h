#pragma once

#include <string>
#include <vector>

namespace stoker {

// An experiment as a command line names it, and how the command prints what came of it. What a
// command takes beside these is in a struct of its own, derived from this one. A value.
struct ConfigArguments {
  // A YAML file. (`checkpoint`: also a directory.)
  std::string config;
  // Assignments (a.b=value) in the place of what it says, in their order.
  std::vector<std::string> overrides;
  // The result as JSON on standard output, instead of text.
  bool json = false;
};

}  // namespace stoker
