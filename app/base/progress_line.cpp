#include "app/base/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "io/core/system/standard_streams.h"
#include "io/core/system/terminal.h"
#include "io/core/text/text.h"

namespace stoker {

void show_progress(const std::string& what, uint64_t done, uint64_t total) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::string figures = fmt::format(" {}", done);
  if (total > 0) {
    figures += fmt::format(" of {} ({:.0f} %)", total,
                           100.0 * static_cast<double>(done) / static_cast<double>(total));
  }
  const size_t columns = error_columns() - 1;  // the last one stays free (rewrite_line)
  rewrite_line(fitted(what, columns - std::min(columns, figures.size())) + figures);
  if (done == total) write_stderr("\n");
}

std::function<void(int64_t, int64_t)> progress_of(const std::string& what) {
  using Clock = std::chrono::steady_clock;
  return [what, next = Clock::time_point()](int64_t done, int64_t total) mutable {
    // More than ten lines a second are unreadable and cost a write each.
    const Clock::time_point now = Clock::now();
    if (now < next && done != total) return;
    next = now + std::chrono::milliseconds(100);
    show_progress(what, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  };
}

void print_note(const std::string& text) { write_stderr(printable(text) + "\n"); }

}  // namespace stoker
