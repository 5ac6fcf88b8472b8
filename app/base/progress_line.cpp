#include "app/base/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include "io/core/system/standard_streams.h"
#include "io/core/text/text.h"

namespace stoker {

void show_progress(const std::string& what, uint64_t done, uint64_t total) {
  if (isatty(STDERR_FILENO) != 1) return;
  const std::string of =
      total > 0 ? fmt::format(" of {} ({:.0f} %)", total,
                              100.0 * static_cast<double>(done) / static_cast<double>(total))
                : "";
  write_stderr(fmt::format("\r\x1b[K{} {}{}{}", what, done, of, done == total ? "\n" : ""));
}

std::function<void(int64_t, int64_t)> progress_of(const std::string& what) {
  return [what](int64_t done, int64_t total) {
    show_progress(what, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
}

void print_note(const std::string& text) { write_stderr(printable(text) + "\n"); }

}  // namespace stoker
