#pragma once

#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/simulate/inputs.h"
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

// The inputs with knobs turned: "decode=2x,storage=4x,ranks=64". A factor is one of speed: twice as
// fast. Error(config) for an unknown knob, or a value that it cannot have.
SimulationInputs turned(const SimulationInputs& inputs, const std::string& knobs);

// What "decode=2x,workers=2x,workers=4x" asks for, one after the other: a knob that is named more
// than once is turned to each of its values, with each value of the others. Here those are
// "decode=2x,workers=2x" and "decode=2x,workers=4x".
std::vector<std::string> what_ifs(const std::string& knobs);

// "decode=2x|...": what can be turned, for the command's help.
std::string knobs_help();

}  // namespace stoker
