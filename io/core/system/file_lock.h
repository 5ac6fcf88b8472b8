#pragma once

#include <string>

#include "io/core/system/file.h"

namespace stoker {

enum class FileLock { shared, exclusive };

// Takes a lock on the whole of a file, or turns the one that it has into this one. It is of the
// open file description (F_OFD_SETLK): the kernel drops it when the last descriptor of that is
// closed, also where its process was killed, and two that one process has opened are like those of
// two. `file` is open for reading and writing. wait: until it can be had. Returns 0, EAGAIN where
// somebody else has the file, or another errno. Any thread.
int lock_file(const FileDescriptor& file, FileLock lock, bool wait = false);

// Whether what lock_file() returned says that the file system has no locks at all.
bool has_no_locks(int errno_value);

// Marks an open directory as in use until its descriptor is closed, also where the process is
// killed (flock(2), for lock_file() takes no directories). Does nothing where there are no locks.
// Any thread.
void mark_in_use(const FileDescriptor& directory);
// Whether somebody has marked this directory. False also where that cannot be told: on another
// machine's file system, or without permission. Any thread.
bool is_in_use(const std::string& directory);

}  // namespace stoker
