#pragma once

#include "io/profiler/profile.h"

namespace stoker {

// Two counts of the same file as one, by the rules with which Darshan makes the record of a file
// that several processes share: sums, maxima, first and last times, the slowest call with its size,
// and the commonest of both lists. Mode, alignments and the source of a rename: `into`'s own, or
// the other's if it has not got them; a mode that `later` has replaces it. Pure; any thread.
void merge(PosixCounters& into, const PosixCounters& later);
void merge(StdioCounters& into, const StdioCounters& later);

// Moves the time stamps to a clock that began `begin_s` seconds later. What was before that is put
// at its begin: at the smallest time that is not "never".
void shift_times(PosixCounters& counters, double begin_s);
void shift_times(StdioCounters& counters, double begin_s);

}  // namespace stoker
