#pragma once

#include <string>

#include "io/core/error.h"

namespace stoker {

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
