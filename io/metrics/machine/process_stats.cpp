#include "io/metrics/machine/process_stats.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>

#include "io/core/system/file.h"

namespace stoker {
namespace {

std::optional<double> cpu_seconds() {
  // Finer than the clock ticks of /proc/self/stat.
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::optional<uint64_t> open_fds() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  uint64_t count = 0;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  if (error || count == 0) return std::nullopt;
  return count - 1;  // one is the listing's own
}

std::optional<uint64_t> max_fds() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

std::optional<double> start_time(uint64_t start_ticks) {
  const auto text = proc::read("/proc/stat");
  const auto boot = text ? proc::number_of(*text, "btime") : std::nullopt;
  if (!boot) return std::nullopt;
  return static_cast<double>(*boot) +
         static_cast<double>(start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

namespace proc {

std::optional<std::string> read(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char block[16384];
  for (;;) {
    const ssize_t count = ::read(file.get(), block, sizeof block);
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return std::nullopt;
    if (count > 0) text.append(block, static_cast<size_t>(count));
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(separator));
    if (!piece.empty()) pieces.push_back(piece);
    text.remove_prefix(std::min(piece.size() + 1, text.size()));
  }
  return pieces;
}

std::optional<uint64_t> number(std::string_view word) {
  uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::optional<uint64_t> number_of(std::string_view text, std::string_view first_word) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(first_word)) continue;
    const auto words = split(line, ' ');
    if (words[0] == first_word) return words.size() > 1 ? number(words[1]) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace proc

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // "pid (name) state ...": the name may hold anything, so the fields are counted from behind it.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto words = proc::split(text.substr(name_end + 1), ' ');
  constexpr size_t kThreads = 17, kStart = 19, kVirtual = 20, kResident = 21;
  if (words.size() <= kResident) return std::nullopt;
  const auto threads = proc::number(words[kThreads]);
  const auto start = proc::number(words[kStart]);
  const auto virtual_bytes = proc::number(words[kVirtual]);
  const auto resident = proc::number(words[kResident]);
  if (!threads || !start || !virtual_bytes || !resident) return std::nullopt;
  return ProcessStat{*threads, *start, *virtual_bytes, *resident};
}

std::optional<ProcessIo> parse_process_io(std::string_view text) {
  const auto rchar = proc::number_of(text, "rchar:");
  const auto wchar = proc::number_of(text, "wchar:");
  const auto syscr = proc::number_of(text, "syscr:");
  const auto syscw = proc::number_of(text, "syscw:");
  const auto read_bytes = proc::number_of(text, "read_bytes:");
  const auto write_bytes = proc::number_of(text, "write_bytes:");
  if (!rchar || !wchar || !syscr || !syscw || !read_bytes || !write_bytes) return std::nullopt;
  return ProcessIo{*rchar, *wchar, *syscr, *syscw, *read_bytes, *write_bytes};
}

namespace {

// /proc/<pid>/task/<tid>/schedstat: nanoseconds on a core, nanoseconds of waiting for one, turns.
std::optional<double> cpu_wait_seconds() {
  std::error_code error;
  std::filesystem::directory_iterator thread("/proc/self/task", error);
  std::optional<double> sum;
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    const auto text = proc::read(thread->path().string() + "/schedstat");
    const auto words = text ? proc::split(*text, ' ') : std::vector<std::string_view>();
    const auto waited = words.size() > 1 ? proc::number(words[1]) : std::nullopt;
    if (waited) sum = sum.value_or(0) + 1e-9 * static_cast<double>(*waited);
  }
  return sum;
}

}  // namespace

ProcessStats read_process_stats() {
  ProcessStats stats;
  stats.cpu_wait_seconds = cpu_wait_seconds();
  stats.cpu_seconds = cpu_seconds();
  stats.open_fds = open_fds();
  stats.max_fds = max_fds();
  if (const auto text = proc::read("/proc/self/io")) stats.io = parse_process_io(*text);
  const auto text = proc::read("/proc/self/stat");
  if (const auto stat = text ? parse_process_stat(*text) : std::nullopt) {
    stats.threads = stat->threads;
    stats.virtual_bytes = stat->virtual_bytes;
    stats.resident_bytes = stat->resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    stats.start_time_s = start_time(stat->start_ticks);
  }
  return stats;
}

std::optional<uint64_t> thread_read_bytes(pid_t tid) {
  const auto text = proc::read("/proc/self/task/" + std::to_string(tid) + "/io");
  return text ? proc::number_of(*text, "read_bytes:") : std::nullopt;
}

}  // namespace stoker
