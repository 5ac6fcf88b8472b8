#include "io/core/system/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace stoker {

int lock_file(const FileDescriptor& file, FileLock lock, bool wait) {
  struct flock whole {};
  whole.l_type = lock == FileLock::shared ? F_RDLCK : F_WRLCK;
  whole.l_whence = SEEK_SET;
  const int command = wait ? F_OFD_SETLKW : F_OFD_SETLK;
  if (uninterrupted([&] { return ::fcntl(file.get(), command, &whole); }) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

bool has_no_locks(int errno_value) { return errno_value == ENOLCK || is_unsupported(errno_value); }

void mark_in_use(const FileDescriptor& directory) {
  uninterrupted([&] { return ::flock(directory.get(), LOCK_SH); });
}

bool is_in_use(const std::string& directory) {
  const FileDescriptor held(
      uninterrupted([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!held) return false;
  return uninterrupted([&] { return ::flock(held.get(), LOCK_EX | LOCK_NB); }) != 0 &&
         errno == EWOULDBLOCK;
}

}  // namespace stoker
