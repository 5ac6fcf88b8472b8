#pragma once

#include <string>
#include <vector>

#include "app/base/command_line.h"

// The commands of the program. Those in this folder are the program's own and read arguments only:
// none of them knows how a command does what it does. Every other command lies in the library of
// its tool (app/tools), which is loaded when the command is called.

namespace stoker {

// Declares the command of this name with its arguments, and those below it. False: no command has
// this name. Error(ExitCode::environment): its tool is not built or cannot be loaded.
bool add_command(const Command& program, const std::string& name);
// The same for all commands. Result: the names of those that are left out, because their tools are
// not built or cannot be loaded.
std::vector<std::string> add_all_commands(const Command& program);

// Each declares one command below `program`. What it does is a function of the room that it belongs
// to, which gets the struct that the arguments were read into.
void add_train(const Command& program);
void add_launch(const Command& program);
void add_check(const Command& program);
void add_list(const Command& program);
void add_describe(const Command& program);
void add_checkpoint(const Command& program);
void add_environment(const Command& program);
void add_healthcheck(const Command& program);

}  // namespace stoker
