#include "app/base/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "io/core/system/standard_streams.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// From when on work is long enough to say when it will be done.
constexpr std::chrono::seconds kLong(5);
constexpr std::chrono::seconds kPauseOfLog(10);

std::string figures_of(uint64_t done, uint64_t total) {
  if (total == 0) return fmt::format(" {}", done);
  return fmt::format(" {} of {} ({:.0f} %)", done, total,
                     100.0 * static_cast<double>(done) / static_cast<double>(total));
}

// On a terminal; one line of it.
void rewrite(const std::string& what, const std::string& figures, bool last) {
  const size_t columns = error_columns() - 1;  // the last one stays free (rewrite_line)
  rewrite_line(fitted(what, columns - std::min(columns, figures.size())) + figures);
  if (last) write_stderr("\n");
}

}  // namespace

void show_progress(const std::string& what, uint64_t done, uint64_t total) {
  if (isatty(STDERR_FILENO) == 1) rewrite(what, figures_of(done, total), done == total);
}

std::function<void(int64_t, int64_t)> progress_of(const std::string& what) {
  using Clock = std::chrono::steady_clock;
  // More than ten lines a second are unreadable and cost a write each; a log gets one now and then.
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const Clock::duration pause = terminal ? std::chrono::milliseconds(100) : kPauseOfLog;
  const Clock::time_point begin = Clock::now();
  const Clock::time_point first = terminal ? begin : begin + pause;
  return [=, next = first](int64_t done, int64_t total) mutable {
    const Clock::time_point now = Clock::now();
    if (now < next && (done != total || !terminal)) return;
    next = now + pause;
    std::string figures = figures_of(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
    if (now - begin >= kLong && done > 0 && done < total) {
      const std::chrono::duration<double> elapsed = now - begin;
      figures += fmt::format(", {:.0f} s left", elapsed.count() / static_cast<double>(done) *
                                                    static_cast<double>(total - done));
    }
    if (terminal) {
      rewrite(what, figures, done == total);
    } else if (done < total) {
      print_note(what + figures);
    }
  };
}

void print_note(const std::string& text) { write_stderr(printable(text) + "\n"); }

}  // namespace stoker
