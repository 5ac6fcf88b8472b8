#include "app/tools/run_program/watch/task_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

template <class Number>
std::optional<Number> number_in(std::string_view word, int base = 10) {
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }
  Number value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string_view line_of(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

double ticks_per_second() {
  static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ticks;
}

std::string_view TaskFiles::read(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  size_t size = 0;
  while (size < sizeof buffer_) {
    const ssize_t count = ::read(file.get(), buffer_ + size, sizeof buffer_ - size);
    if (count <= 0) break;
    size += static_cast<size_t>(count);
    // These files come whole, if the buffer is larger than they are.
    if (size < 4096) break;
  }
  return {buffer_, size};
}

std::string_view TaskFiles::read(const FileDescriptor& file) {
  const ssize_t count = ::pread(file.get(), buffer_, sizeof buffer_, 0);
  return {buffer_, count > 0 ? static_cast<size_t>(count) : 0};
}

std::string_view TaskFiles::link(const std::string& path) {
  const ssize_t count = ::readlink(path.c_str(), buffer_, sizeof buffer_);
  return {buffer_, count > 0 ? static_cast<size_t>(count) : 0};
}

std::optional<TaskStat> parse_task_stat(std::string_view text, double ticks_per_second) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const auto words = proc::split(line_of(text.substr(close + 1)), ' ');
  constexpr size_t kParent = 1;
  constexpr size_t kMajorFaults = 9;
  constexpr size_t kStart = 19;
  if (words.size() <= kStart || words[0].size() != 1) return std::nullopt;
  const auto parent = number_in<pid_t>(words[kParent]);
  const auto faults = number_in<uint64_t>(words[kMajorFaults]);
  const auto start = number_in<uint64_t>(words[kStart]);
  if (!parent || !faults || !start) return std::nullopt;
  return TaskStat{.name = std::string(text.substr(open + 1, close - open - 1)),
                  .state = words[0][0],
                  .parent = *parent,
                  .major_faults = *faults,
                  .start_s = static_cast<double>(*start) / ticks_per_second};
}

std::optional<TaskSchedule> parse_schedule(std::string_view text) {
  const auto words = proc::split(line_of(text), ' ');
  if (words.size() != 3) return std::nullopt;
  const auto ran = number_in<uint64_t>(words[0]);
  const auto waited = number_in<uint64_t>(words[1]);
  const auto turns = number_in<uint64_t>(words[2]);
  if (!ran || !waited || !turns) return std::nullopt;
  return TaskSchedule{.ran_ns = *ran, .waited_ns = *waited, .turns = *turns};
}

std::optional<TaskCall> parse_call(std::string_view text) {
  const auto words = proc::split(line_of(text), ' ');
  if (words.empty()) return std::nullopt;
  const auto number = number_in<int64_t>(words[0]);
  if (!number) return std::nullopt;  // "running"
  TaskCall call{.number = *number};
  if (*number < 0) return call;
  for (size_t i = 0; i < 6 && i + 1 < words.size(); ++i) {
    call.arguments[i] = number_in<uint64_t>(words[i + 1]).value_or(0);
  }
  return call;
}

std::vector<std::string> parse_command(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<pid_t> parse_numbers(std::string_view text) {
  std::vector<pid_t> numbers;
  for (const std::string_view word : proc::split(line_of(text), ' ')) {
    if (const auto number = number_in<pid_t>(word)) numbers.push_back(*number);
  }
  return numbers;
}

std::string mount_of(std::string_view mountinfo, std::string_view path) {
  std::string_view place;
  std::string found;
  for (const std::string_view line : proc::split(mountinfo, '\n')) {
    const auto words = proc::split(line, ' ');
    constexpr size_t kPlace = 4;
    if (words.size() <= kPlace) continue;
    const std::string_view at = words[kPlace];
    const bool holds =
        at == "/" || (path.starts_with(at) && (path.size() == at.size() || path[at.size()] == '/'));
    // Of several mounts on one place the last one is seen.
    if (!holds || at.size() < place.size()) continue;
    const auto dash = std::ranges::find(words, "-");
    if (words.end() - dash < 3) continue;
    place = at;
    found = std::string(dash[1]) + " " + std::string(dash[2]) + " at " + std::string(at);
  }
  return found;
}

}  // namespace stoker
