#pragma once

#include <algorithm>

namespace stoker {

// When a call began and ended, in seconds. A value. 0: not known; such a call takes no time.
struct CallSpan {
  double begin_s = 0, end_s = 0;
  double seconds() const { return end_s - begin_s; }
};

// The first begin and the last end of calls of one kind, as Darshan keeps them. 0: none yet.
inline void stamp(const CallSpan& call, double& first_begin, double& last_end) {
  if (first_begin == 0 || first_begin > call.begin_s) first_begin = call.begin_s;
  last_end = call.end_s;
}

// Adds the part of the call that no earlier one covered; `covered` is up to where they did. So the
// time of calls on one file at once counts once. A call that ended before others that were counted
// earlier adds nothing (Darshan would take time off).
inline void add_time(const CallSpan& call, double& total, double& covered) {
  if (call.begin_s == 0 || call.end_s == 0) return;
  total += std::max(0., call.end_s - std::max(call.begin_s, covered));
  covered = std::max(covered, call.end_s);
}

}  // namespace stoker
