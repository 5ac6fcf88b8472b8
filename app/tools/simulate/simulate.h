#pragma once

#include <string>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker simulate` is asked for. `config`: the directory of a measured run. Empty: the file
// says everything. A value.
struct SimulateArguments : ConfigArguments {
  std::string machine;  // a file with machine: and workload:
  std::string what_if;  // knobs to turn, beside the inputs as they are
  bool inputs = false;  // all of them, defaults, too
};

// `stoker simulate`: predicts a run, prints what came out, beside what was put in and where that is
// from. Error as measured_inputs(), read_simulation() and turned().
ExitCode simulate(const SimulateArguments& arguments);

}  // namespace stoker
