#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/core/ranks/rank_group.h"

namespace stoker {

// What a rank was told, or has found: values by their names, which are unique.
using Facts = std::vector<std::pair<std::string, std::string>>;

// Compares the facts of all ranks. Returns what differs, in words, the same on every rank, in the
// order of rank 0's facts: "optimizer.lr: 0.001 on rank 0, but 0.5 on rank 1". Empty: nothing does,
// and then no more than a digest was exchanged. All ranks have heard it before one of them returns.
// The trainer's thread; errors as RankGroup::meet.
std::string disagreement(RankGroup& group, const Facts& own);

}  // namespace stoker
