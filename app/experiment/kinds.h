#pragma once

#include <string>
#include <vector>

#include "io/core/config.h"

namespace stoker {

// One kind of component with what is registered for it.
struct Kind {
  std::string name;
  std::vector<std::string> types;
  // The options of a type. Error(ExitCode::config) with a suggestion for an unknown one.
  std::vector<FieldHelp> (*describe)(const std::string& type);
};

// All kinds, with the plug-ins that are loaded by now.
std::vector<Kind> kinds();

// Error(ExitCode::config) with a suggestion for an unknown name.
Kind find_kind(const std::string& name);

}  // namespace stoker
