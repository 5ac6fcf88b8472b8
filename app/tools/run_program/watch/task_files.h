#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/file.h"

namespace stoker {

// The files of /proc about a task, read into a buffer that is kept, and their parsers. The parsers
// are pure; absent: the text is not what it should be.

// Reads small files of /proc again and again. One thread.
class TaskFiles {
 public:
  // What is in the file, at most 16 KiB; empty: there is no such file, or it may not be read. It
  // stands until the next call.
  std::string_view read(const std::string& path);
  // The same of a file that was kept open.
  std::string_view read(const FileDescriptor& file);
  // What a link of /proc names, until the next call; empty as above.
  std::string_view link(const std::string& path);

 private:
  char buffer_[16384];
};

// How the kernel counts times in these files.
double ticks_per_second();

// Of /proc/PID/stat and /proc/PID/task/TID/stat.
struct TaskStat {
  std::string name;
  char state = '?';
  pid_t parent = 0;
  uint64_t major_faults = 0;
  double start_s = 0;  // since boot
};
std::optional<TaskStat> parse_task_stat(std::string_view text, double ticks_per_second);

// Of schedstat: what the kernel counted of a thread since it began.
struct TaskSchedule {
  uint64_t ran_ns = 0;
  uint64_t waited_ns = 0;  // for a core
  uint64_t turns = 0;      // how often it got one

  bool operator==(const TaskSchedule&) const = default;
};
std::optional<TaskSchedule> parse_schedule(std::string_view text);

// Of syscall: where a thread is blocked. Absent: it runs.
struct TaskCall {
  int64_t number = -1;  // -1: in no call, such as in a fault
  uint64_t arguments[6] = {};
};
std::optional<TaskCall> parse_call(std::string_view text);

// The words of a command line, of which each ends with a zero byte.
std::vector<std::string> parse_command(std::string_view text);
// Numbers between blanks.
std::vector<pid_t> parse_numbers(std::string_view text);
// The file system that holds a path, by the text of /proc/PID/mountinfo: "type source at place".
// Empty: no line holds it.
std::string mount_of(std::string_view mountinfo, std::string_view path);

}  // namespace stoker
