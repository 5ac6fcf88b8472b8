#pragma once

#include "io/profiler/preload/preload_layout.h"

namespace stoker {

// This process's log, in the folder of the program that was started. No descriptor stays open for
// it, no library but libc's is used, no memory is asked of malloc(). One for the process.

// Maps `common` of this folder, which is absolute. False: it is not there, or of another build.
bool open_preload_folder(const char* folder);
// Makes a new log for this process and maps it; the one that the parent of a fork had stays mapped.
// `heard`: as RecorderSurroundings has it. Null: there is no room for it. One thread.
PreloadLog* make_process_log(void (*heard)(HeardCall, FileRecord*, int64_t, CallTime));
// Unmaps `common`: nobody is counted in that folder any more.
void close_preload_folder();
// Whether somebody is there who will read the log: he holds a lock on `common`.
bool preload_folder_is_in_use();
// For the log of the parent of a fork, and one that is not written any more.
void unmap_process_log(PreloadLog* log);

}  // namespace stoker
