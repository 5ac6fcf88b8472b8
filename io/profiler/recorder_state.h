#pragma once

#include "io/metrics/io_profile/io_recorder_options.h"
#include "io/profiler/profile_begin.h"
#include "io/profiler/recorder_tables.h"
#include "io/profiler/records/mount_table.h"
#include "io/profiler/records/path_filter.h"

namespace stoker {

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
