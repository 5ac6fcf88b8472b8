#include "io/core/system/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "io/core/system/standard_streams.h"

namespace stoker {
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
