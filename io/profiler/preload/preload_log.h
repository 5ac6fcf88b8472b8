#pragma once

#include <optional>
#include <string>

#include "io/profiler/preload/preload_folder.h"

namespace stoker {

// Reads the log of a process, which may still write it. only_ended: nothing, where the process did
// not say two seconds ago that it ended. Absent: it is not finished, of another build, or cannot be
// read. Trusts no pointer in it. Any thread.
std::optional<PreloadedProcess> read_preload_log(const std::string& path, bool only_ended);

}  // namespace stoker
