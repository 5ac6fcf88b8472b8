#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/profiler/profile.h"

namespace stoker {

// How an object is read, over a whole run. Expectations, so they need not be whole. A value.
struct ReadPattern {
  double opens = 0;     // times that it was found anew
  double requests = 0;  // operations of the tier, those of no bytes included
  double seeks = 0;     // those reads that do not go on where the one before ended
  double bytes_read = 0;
  ReadPattern& operator+=(const ReadPattern& more);
};

// An object that may be staged. A value.
struct ObjectUse : ReadPattern {
  std::string key;
  uint64_t bytes = 0;  // what a copy takes
  int64_t first = -1;  // place of its first read in the run; below 0: it is not read
};

// The reads that an I/O profile saw, by the key of the object. Objects that are not in it were not
// read.
using SeenReads = std::unordered_map<std::string, ReadPattern>;

// Replaces what the configuration says by what was seen, for every object. The order of first reads
// stays. times: what was seen is multiplied by this (3 if one of three epochs was seen).
void use_seen(const SeenReads& seen, double times, std::vector<ObjectUse>& uses);

// What the counters of the module POSIX say about the files below `root`, by their path in it,
// which is their key in a tier with that root. A read that is not consecutive counts as a seek.
// With n readers, a consecutive one counts as (n - 1) / n of a seek, because reads of others come
// between. Pure; any thread.
SeenReads seen_reads(const IoProfile& profile, const std::string& root, int64_t readers);

}  // namespace stoker
