#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/tools/advise/object_use.h"

namespace stoker {

// Names the reads about which I/O profiles are asked. A value.
struct SeenTier {
  std::string name;  // under storage:
  std::string root;  // root of its files, as a path of this process
  int64_t readers = 1;
  int64_t epoch_steps = 1;  // steps of an epoch, or of a run that is shorter
};

// What the sessions of a run, or a log, saw of the reads of a tier. A value.
struct SeenProfile {
  SeenReads reads;
  int64_t logs = 0;
  // Steps that the sessions of each rank saw. 0: the log does not say it, and is taken to be of a
  // whole run.
  double steps = 0;
};

// `where`: the directory of a run that kept I/O profiles, or any log of Darshan's. It is an error
// if objects could seem unread because the profiler did not look: Error(ExitCode::config) if it has
// seen less than one whole epoch or no read of the tier, if files are missing in it, or if the run
// read copies; ExitCode::environment if there is no such log; ExitCode::data if one cannot be read.
// Any thread.
SeenProfile seen_profile(const std::string& where, const SeenTier& tier);

}  // namespace stoker
