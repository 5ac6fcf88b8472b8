#pragma once

#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// What `stoker run` is asked for. A value; command is not empty.
struct RunProgramArguments {
  std::vector<std::string> command;  // the program and its words
  std::string log;                   // where Darshan's log goes; empty: stoker-run-PID.darshan
  bool json = false;
};

// `stoker run`: runs a program, counts what it and its children read and write, writes the log, and
// prints what was seen. Returns the program's own exit code, 128 + signal if a signal ended it.
// Error(127) where there is no such program, Error(126) where it cannot be executed;
// Error(ExitCode::environment) where there is no room for the counters;
// IoError where the log cannot be written.
ExitCode run_program(const RunProgramArguments& arguments);

}  // namespace stoker
