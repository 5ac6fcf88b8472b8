#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// What `stoker run` is asked for. A value; either a command or a pid.
struct RunProgramArguments {
  std::vector<std::string> command;  // the program and its words
  std::string log;                   // where Darshan's log goes; empty: stoker-run-PID.darshan
  bool json = false;
  std::vector<std::string> tiers;   // FOLDER=TIER
  std::string tier_cache = "drop";  // what the page cache does with them
  int64_t pid = 0;                  // of a program that runs already; 0: one is started
  std::optional<double> seconds;    // how long that is counted; absent: until Ctrl-C, or its end
};

// `stoker run`: runs a program, counts what it and its children read and write, writes the log, and
// prints what was seen. Returns the program's own exit code, 128 + signal if a signal ended it.
// Error(127) where there is no such program, Error(126) where it cannot be executed;
// Error(ExitCode::environment) where there is no room for the counters;
// IoError where the log cannot be written.
ExitCode run_program(const RunProgramArguments& arguments);

}  // namespace stoker
