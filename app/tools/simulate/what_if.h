#pragma once

#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"

namespace stoker {

// The inputs with knobs turned: "decode=2x,storage=4x,ranks=64". A factor is one of speed: twice as
// fast. Error(config) for an unknown knob, or a value that it cannot have.
SimulationInputs turned(const SimulationInputs& inputs, const std::string& knobs);

// "decode=2x|...": what can be turned, for the command's help.
std::string knobs_help();

}  // namespace stoker
