#include "io/core/system/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

// Whether all of it was written; errno says why not. Another program that shares a terminal or a
// pipe may have made it non-blocking for all.
bool write_whole(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count =
        uninterrupted([&] { return ::write(descriptor, text.data(), text.size()); });
    if (count < 0 && errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Whether the stream is of no use: closed, or, of those that are written, opened for reading only.
bool useless(int descriptor) noexcept {
  const int mode = ::fcntl(descriptor, F_GETFL);
  return mode < 0 || (descriptor != STDIN_FILENO && (mode & O_ACCMODE) == O_RDONLY);
}

// Whether a write failed because its reader has gone away: of a pipe, or of a terminal.
bool without_reader(int descriptor) noexcept {
  if (errno != EIO) return errno == EPIPE;
  struct stat what {};
  return ::fstat(descriptor, &what) == 0 && S_ISCHR(what.st_mode);
}

}  // namespace

void open_standard_streams() noexcept {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!useless(descriptor)) continue;
    ::close(descriptor);
    // open(2) gives the lowest number that is free, and those below are taken.
    if (::open("/dev/null", O_RDWR) < 0) return;
  }
}

void write_stderr(std::string_view text) noexcept { write_whole(STDERR_FILENO, text); }

void write_stdout(std::string_view text) {
  if (write_whole(STDOUT_FILENO, text)) return;
  const int error = errno;
  if (!without_reader(STDOUT_FILENO)) throw_errno("write", "standard output", error);
}

}  // namespace stoker
