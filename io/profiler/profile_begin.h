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
};

// Now. Any thread.
ProfileBegin begin_profile();

// The profile of this process from `begin` to `end`, without what the recorder counted. Any thread.
IoProfile profile_between(const ProfileBegin& begin, const ProfileBegin& end);

}  // namespace stoker
