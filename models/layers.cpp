#include "models/layers.h"

#include <algorithm>

#include "io/core/error.h"

namespace stoker {

void require_side(const std::string& network, const Model::Inputs& inputs, int64_t smallest) {
  if (std::min(inputs.height, inputs.width) >= smallest) return;
  throw Error(ExitCode::config, "model: " + network + " needs images of at least " +
                                    std::to_string(smallest) + " pixels a side, got " +
                                    std::to_string(inputs.width) + "x" +
                                    std::to_string(inputs.height) + ": raise decoder.size");
}

}  // namespace stoker
