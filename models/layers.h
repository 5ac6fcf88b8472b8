#pragma once

#include <string>

#include "models/model.h"

// What the networks share.

namespace stoker {

// Error(ExitCode::config) naming the network and the smallest side where the input is smaller.
void require_side(const std::string& network, const Model::Inputs& inputs, int64_t smallest);

}  // namespace stoker
