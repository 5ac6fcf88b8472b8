#pragma once

#include <string>

#include "io/profiler/log/darshan_log.h"
#include "io/profiler/view/profile_json.h"

namespace stoker {

// The views of a log for a terminal: all that profile_json() has, except the course over time. Any
// thread.
std::string darshan_text(const DarshanLog& log, const ProfileViewLimits& limits);

}  // namespace stoker
