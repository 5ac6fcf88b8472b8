#pragma once

#include <string>
#include <vector>

#include "app/tools/bench_train/headspace.h"

namespace stoker {

// What the levels of `stoker headspace` mean for someone who has data and this machine: one
// sentence, which says what binds, by which figures, and what would change it. A pure function.
std::string own_sentence(const std::vector<HeadspaceLevel>& levels);

}  // namespace stoker
