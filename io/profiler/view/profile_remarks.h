#pragma once

#include <string>
#include <vector>

#include "io/profiler/profile.h"

namespace stoker {

// What a reader has to know before any figure of the profile, a sentence each: what is missing of
// it, how far it is from the kernel's count, and what is in no such profile. Any thread.
std::vector<std::string> profile_remarks(const IoProfile& profile);

}  // namespace stoker
