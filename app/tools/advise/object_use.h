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
  double seeks = 0;     // of them, those that do not go on where the one before ended
  double bytes_read = 0;
  ReadPattern& operator+=(const ReadPattern& more);
};

// An object that may be staged. A value.
struct ObjectUse : ReadPattern {
  std::string key;
  uint64_t bytes = 0;  // what a copy takes
  int64_t first = -1;  // place of its first read in the run; below 0: it is not read
};

// What was seen of reads, by the key of the object: what an I/O profile says. Objects that are not
// in it were not read.
using SeenReads = std::unordered_map<std::string, ReadPattern>;

// Puts what was seen in the place of what the configuration says, for every object. The order of
// first reads stays. times: what was seen counts so often (seen in one of three epochs: 3).
void use_seen(const SeenReads& seen, double times, std::vector<ObjectUse>& uses);

// What the counters of module POSIX say of the files below `root`, by their path in it, as a tier
// of that root has its keys. A read that is not consecutive counts as a seek; of n readers a
// consecutive one does n - 1 times of n, for others get between. Pure; any thread.
SeenReads seen_reads(const IoProfile& profile, const std::string& root, int64_t readers);

}  // namespace stoker
