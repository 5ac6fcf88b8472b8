#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// The traffic of a process or thread since its start, as /proc/self/io counts it. A value. Bytes
// and calls.
struct ProcessIo {
  // Bytes that read calls returned, from the page cache or not, and that write calls were given;
  // what a mapping moves is in neither.
  uint64_t rchar = 0;
  uint64_t wchar = 0;
  uint64_t syscr = 0;        // read calls
  uint64_t syscw = 0;        // write calls
  uint64_t read_bytes = 0;   // fetched from a block device, also by read-ahead and page faults
  uint64_t write_bytes = 0;  // on their way to a block device
};

// This process now. A value. Absent: this system does not say (no /proc, hidden files).
struct ProcessStats {
  std::optional<double> cpu_seconds;  // user + system time of all threads
  // Time for which its living threads were ready to run and waited for a core.
  std::optional<double> cpu_wait_seconds;
  // Bytes of physical memory, and (virtual_bytes) of address space.
  std::optional<uint64_t> resident_bytes;
  std::optional<uint64_t> virtual_bytes;
  std::optional<uint64_t> open_fds;
  std::optional<uint64_t> max_fds;  // the soft limit; absent where there is no limit, too
  std::optional<uint64_t> threads;
  std::optional<double> start_time_s;  // Unix time, to the second
  // Absent in containers that hide the file.
  std::optional<ProcessIo> io;
};

// Reads some files of /proc. Any thread; never throws for a system that does not say.
ProcessStats read_process_stats();

// Bytes that a thread of this process (gettid) fetched from block devices. Absent: the thread has
// ended, or this system does not say. Any thread.
std::optional<uint64_t> thread_read_bytes(pid_t tid);

// What /proc/self/stat holds of ProcessStats. Times are in clock ticks.
struct ProcessStat {
  uint64_t threads = 0;
  uint64_t start_ticks = 0;  // after boot
  uint64_t virtual_bytes = 0;
  uint64_t resident_pages = 0;
};

// Parsers; absent: the text is not what it should be.
// /proc/<pid>/stat; the name in it may hold blanks and brackets.
std::optional<ProcessStat> parse_process_stat(std::string_view text);
// /proc/<pid>/io.
std::optional<ProcessIo> parse_process_io(std::string_view text);

// For the text files of /proc. Any thread.
namespace proc {

// The whole file, of any length.
// Absent: it cannot be read.
std::optional<std::string> read(const std::string& path);
// Without empty pieces. They refer to `text`.
std::vector<std::string_view> split(std::string_view text, char separator);
// The word as a decimal number that fits; absent otherwise.
std::optional<uint64_t> number(std::string_view word);
// The number after the first word of a line: number_of("btime 7\n", "btime") is 7.
std::optional<uint64_t> number_of(std::string_view text, std::string_view first_word);

}  // namespace proc
}  // namespace stoker
