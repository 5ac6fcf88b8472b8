#include "io/core/system/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

// Whether all of it was written; errno says why not.
bool write_whole(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count =
        uninterrupted([&] { return ::write(descriptor, text.data(), text.size()); });
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

void open_standard_streams() noexcept {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open(2) gives the lowest number that is free, and those below are taken.
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

void write_stderr(std::string_view text) noexcept { write_whole(STDERR_FILENO, text); }

void write_stdout(std::string_view text) {
  if (!write_whole(STDOUT_FILENO, text) && errno != EPIPE) {
    throw_errno("write", "standard output", errno);
  }
}

}  // namespace stoker
