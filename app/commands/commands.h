#pragma once

#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/error.h"

// The commands of the program. Each is declared by the library that it lies in
// (RegisteredCommand), which is loaded when the command is called.

namespace stoker {

// Declares the command of this name with its arguments, and those below it. Where the next word is
// one of those that lie in libraries of their own, only that one is loaded; where it is no command
// below this one, all that can be had are. False: no command has this name.
// Error(ExitCode::environment): its library is not built or cannot be loaded.
bool add_command(const Command& program, const std::string& name, const std::string& next = {});
// The same for all commands. Result: the names of those that are left out, because their libraries
// are not built or cannot be loaded.
std::vector<std::string> add_all_commands(const Command& program);

// `stoker help TOPIC` for a topic that no command's --help explains. Anything else behind `help` is
// a command, whose help is printed (app/cli.cpp).
struct HelpArguments {
  std::string topic;
};

// "exit-codes".
bool is_help_topic(const std::string& word);

// Both print on standard output.
ExitCode print_help(const HelpArguments& arguments);
ExitCode print_version();

}  // namespace stoker
