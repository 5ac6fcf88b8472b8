#pragma once

#include <string>
#include <vector>

namespace stoker {

// The directory of a run, and if it had many ranks, those of the other ranks in it: "rank-1" ...
// Any thread.
std::vector<std::string> directories_of_ranks(const std::string& directory);

}  // namespace stoker
