#pragma once

#include <string>
#include <utility>

#include "io/core/system/memory.h"
#include "io/profiler/log/darshan_log.h"

namespace stoker {

inline FileIo file_of(uint64_t id, std::string path) {
  FileIo file;
  file.id = id;
  file.path = std::move(path);
  return file;
}

// A session of two seconds and something: a file that was read, one that a stream wrote, and one of
// which there are segments alone. Every counter and time has another value.
inline IoProfile small_profile() {
  IoProfile profile;
  profile.begin_ns = 1'500'000'000'123'456'789;
  profile.end_ns = 1'500'000'002'999'999'999;
  profile.uid = 1000;
  profile.job_id = 4711;
  profile.host = "node7";
  profile.command = "train config.yaml loader.workers=2";
  profile.steps = IoProfile::Steps{5, 10};
  profile.emulated = {{"data", 1.5, 0, 0.25, 7000, 0, 2.5, 0},
                      {"slow", 0, 2.125, 0, 0, 9000, 0, 2.25}};
  profile.mounts = {{"ext4", "/"}, {"lustre", "/scratch"}};
  profile.dropped = {
      .files = 12, .segments = 34, .posix = true, .stdio = false, .segments_partial = true};
  profile.kernel = IoProfile::Kernel{1000, 2000, 30, 40};
  profile.files = {file_of(16592106915301738000U, "/data/a.jpg"), file_of(2, "/out/log"),
                   file_of(3, "/data/b.jpg")};
  PosixCounters& posix = profile.files[0].posix.emplace();
  for (size_t i = 0; i < posix.counters.size(); ++i)
    posix.counters[i] = static_cast<int64_t>(7 * i);
  for (size_t i = 0; i < posix.times.size(); ++i) posix.times[i] = 0.001 * static_cast<double>(i);
  StdioCounters& stdio = profile.files[1].stdio.emplace();
  for (size_t i = 0; i < stdio.counters.size(); ++i)
    stdio.counters[i] = static_cast<int64_t>(9 * i);
  for (size_t i = 0; i < stdio.times.size(); ++i) stdio.times[i] = 0.002 * static_cast<double>(i);
  profile.files[0].reads = {{0, 100, 0.1, 0.2}, {100, 50, 0.25, 0.3}};
  profile.files[2].writes = {{4096, 1 << 20, 0.5, 2.5}};
  profile.files[1].stream_writes = {{0, 700, 0.25, 0.75}};
  profile.stream_sizes = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                          {11, 12, 13, 14, 15, 16, 17, 18, 19, 20}};
  return profile;
}

inline Bytes bytes_of(const std::string& log) {
  return {reinterpret_cast<const uint8_t*>(log.data()), log.size()};
}

inline DarshanLog parsed(const std::string& log) { return parse_darshan_log(bytes_of(log), "LOG"); }

}  // namespace stoker
