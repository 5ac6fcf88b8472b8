#pragma once

#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"

namespace stoker {

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
