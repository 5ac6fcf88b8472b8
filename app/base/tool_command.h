#pragma once

#include <map>
#include <string>

#include "app/base/command_line.h"

namespace stoker {

// Declares one command below the program's root.
using AddCommand = void (*)(const Command& program);

// The commands of the tools whose libraries are loaded, by name. Filled by ToolCommand.
std::map<std::string, AddCommand>& tool_commands();

// At namespace scope in a tool's command.cpp, once for each command: the command is there from when
// the tool's library is loaded. `name` is also in the library's PLUGIN list in CMake, by which the
// program finds it.
class ToolCommand {
 public:
  ToolCommand(const char* name, AddCommand add) { tool_commands().emplace(name, add); }
};

}  // namespace stoker
