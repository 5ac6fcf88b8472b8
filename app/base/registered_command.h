#pragma once

#include <map>
#include <string>

#include "app/base/command_line.h"

namespace stoker {

// Declares one command below another one: the program's root, or a group.
using AddCommand = void (*)(const Command& above);

// The commands of the libraries that are loaded, by name. Filled by RegisteredCommand.
std::map<std::string, AddCommand>& registered_commands();

// At namespace scope in a command.cpp, once for each command: the command is there from when its
// library is loaded. `name` is also in the library's PLUGIN list in CMake, by which the program
// finds it. A command of two words, "bench train", lies below the group "bench" of another library.
class RegisteredCommand {
 public:
  RegisteredCommand(const char* name, AddCommand add) { registered_commands().emplace(name, add); }
};

}  // namespace stoker
