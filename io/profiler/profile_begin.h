#pragma once

#include <cstdint>
#include <optional>

#include "io/profiler/profile.h"

namespace stoker {

// Where a profile begins, for the differences at its end. A value.
struct ProfileBegin {
  int64_t monotonic_ns = 0;  // on Clock
  int64_t unix_ns = 0;
  struct Kernel {
    int64_t read = 0, written = 0;  // rchar and wchar of /proc/self/io
    int64_t asking = 0;             // bytes that reading them adds to `read`
  };
  std::optional<Kernel> kernel;
  // What the recorder had counted elsewhere and dropped until then.
  int64_t elsewhere_read = 0, elsewhere_written = 0;
  int64_t dropped_files = 0, dropped_segments = 0;
};

// Now, but for the recorder's part. Any thread.
ProfileBegin begin_profile();

// The profile of this process from `begin` to `end`, without its files, mounts and what was
// dropped. Any thread.
IoProfile profile_between(const ProfileBegin& begin, const ProfileBegin& end);

}  // namespace stoker
