#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "io/metrics/clock.h"
#include "io/metrics/io_sessions.h"
#include "io/profiler/io_recorder.h"

namespace stoker {

// A recorder of its own, and calls that it is told as wrappers would. Each lasts a microsecond, and
// begins after the one before; none is really made.
struct ToldCalls {
  explicit ToldCalls(const IoRecorderOptions& options = small()) : options(options) {
    recorder.start(options);
  }
  static IoRecorderOptions small() {
    IoRecorderOptions options;
    options.memory = {16u << 20};
    options.segment_memory = {1u << 20};
    return options;
  }

  // A session that follows the first one.
  void begin_another() {
    recorder.stop();
    recorder.start(options);
  }

  CallTime next() {
    const int64_t begin = Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    last = {std::max(begin, last.end_ns), std::max(begin, last.end_ns) + 1000};
    return last;
  }
  void open(int fd, const std::string& path, int mode = 0) {
    recorder.opened(fd, AT_FDCWD, path.c_str(), next(), mode);
  }
  void close(int fd) { recorder.closed(fd, next()); }
  void read(int fd, int64_t bytes, int64_t offset = -1) {
    recorder.read(fd, bytes, offset, nullptr, next());
  }
  void write(int fd, int64_t bytes, int64_t offset = -1) {
    recorder.wrote(fd, bytes, offset, nullptr, next());
  }

  const IoRecorderOptions options;
  IoRecorder recorder;
  CallTime last{};
};

// The file of that path; an empty one where the profile has none.
inline FileIo file_of(const IoProfile& profile, const std::string& path) {
  for (const FileIo& file : profile.files) {
    if (file.path == path) return file;
  }
  return {};
}
// -1: the file has no record in that module.
inline int64_t counter_of(const FileIo& file, PosixCounters::Counter counter) {
  return file.posix ? file.posix->counters[counter] : -1;
}
inline int64_t counter_of(const FileIo& file, StdioCounters::Counter counter) {
  return file.stdio ? file.stdio->counters[counter] : -1;
}

}  // namespace stoker
