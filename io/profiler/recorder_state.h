#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/metrics/io_sessions.h"
#include "io/profiler/profile.h"
#include "io/profiler/recorder_tables.h"
#include "io/profiler/records/mount_table.h"

namespace stoker {

// Which paths are looked at: those that begin with one of `include`, and of all others those that
// do not begin with one of `exclude`. A value; any thread.
struct PathFilter {
  std::vector<std::string> exclude, include;
  // Whether a file of this name is looked at. Darshan's reserved names ("<STDOUT>") always are. The
  // kernel's names of pipes and sockets never are, as they are not paths.
  bool sees(std::string_view name) const;
};

// Where a profile begins, for the differences at its end. A value.
struct ProfileBegin {
  int64_t monotonic_ns = 0;  // on Clock
  int64_t unix_ns = 0;
  struct Kernel {
    int64_t read = 0, written = 0;  // rchar and wchar of /proc/self/io
    int64_t asking = 0;             // bytes that reading them adds to `read`
  };
  std::optional<Kernel> kernel;
};

// Now. Any thread.
ProfileBegin begin_profile();

// The profile of this process from `begin` to `end`, without what the recorder counted. Any thread.
IoProfile profile_between(const ProfileBegin& begin, const ProfileBegin& end);

// A session of this process: its tables, and what surrounds them. For io/profiler alone. Any
// thread.
class RecorderState {
 public:
  // Throws Error(ExitCode::environment) where the address space is not to be had.
  explicit RecorderState(const IoRecorderOptions& options);
  RecorderState(const RecorderState&) = delete;
  RecorderState& operator=(const RecorderState&) = delete;

  // What was counted so far, about a microsecond a file.
  enum class Segments { with, without };
  IoProfile profile(Segments segments) const;

 private:
  const PathFilter filter_;
  const MountTable mounts_;
  const ProfileBegin begun_;
  Arena arena_, segment_arena_;

 public:
  RecorderTables tables;  // of the arenas
};

}  // namespace stoker
