#include "io/core/system/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

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

namespace {

// Of a character of UTF-8, which takes one column, all bytes but the first are such.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

size_t columns_of(std::string_view text) {
  return text.size() - static_cast<size_t>(std::ranges::count_if(text, continues));
}

}  // namespace

std::string fitted(std::string_view line, size_t columns) {
  while (columns_of(line) > columns) {
    const size_t part = line.rfind("  ");
    if (part == std::string_view::npos || part == 0) break;
    line = line.substr(0, part);
  }
  while (columns_of(line) > columns) {
    size_t last = line.size() - 1;
    while (last > 0 && continues(line[last])) --last;
    line = line.substr(0, last);
  }
  return std::string(line);
}

size_t error_columns() {
  constexpr size_t kUsual = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

// The last column stays free: some terminals go on to the next line when it is written.
void rewrite_line(std::string_view line) {
  write_stderr("\r\x1b[K" + fitted(line, error_columns() - 1));
}

bool output_has_colours() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string inked(std::string_view text, Ink ink, bool colours) {
  if (!colours || ink == Ink::plain) return std::string(text);
  const char* const codes[] = {"", "1", "1;32", "1;33", "1;31"};  // in the order of Ink
  return std::string("\x1b[") + codes[static_cast<size_t>(ink)] + "m" + std::string(text) +
         "\x1b[0m";
}

}  // namespace stoker
