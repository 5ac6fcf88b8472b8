#pragma once

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

}  // namespace stoker
