#pragma once

#include <string>

namespace stoker {

// What this is, and what it was built with and from:
// "stoker 0.1.0 (LibTorch 2.11.0, GCC 12.2.0, Release, revision abc1234)"
std::string version_line();

}  // namespace stoker
