#pragma once

#include <string>
#include <vector>

#include "app/experiment/options.h"

namespace stoker {

// read_experiment() of an experiment that stands in a larger YAML file: messages name places there.
ExperimentOptions read_experiment_tree(Node root, const std::vector<std::string>& overrides);

}  // namespace stoker
