#pragma once

#include <optional>

#include "io/core/system/file.h"
#include "io/profiler/preload/preload_folder.h"

namespace stoker {

// Reads the log of a process, which may still write it. only_ended: nothing, where the process did
// not say two seconds ago that it ended. Absent: it is not finished, of another build, cannot be
// read, or `file` is none. Trusts no pointer in it; a file of another user is copied first, because
// that user may shorten it, and a mapping of it would end this process. Any thread.
std::optional<PreloadedProcess> read_preload_log(const FileDescriptor& file, bool only_ended);

}  // namespace stoker
