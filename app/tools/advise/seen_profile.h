#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/tools/advise/object_use.h"

namespace stoker {

// Of which reads it is asked what I/O profiles saw. A value.
struct SeenTier {
  std::string name;  // under storage:
  std::string root;  // of its files, as a path of this process
  int64_t readers = 1;
  int64_t epoch_steps = 1;  // of an epoch, or of a run that is shorter
};

// What the sessions of a run, or a log, saw of the reads of a tier. A value.
struct SeenProfile {
  SeenReads reads;
  int64_t logs = 0;
  // That it saw, of each rank; 0: a log that does not say it, and so a whole run's.
  double steps = 0;
};

// `where`: the directory of a run that kept I/O profiles, or any log of Darshan's. Error where it
// would say of objects that they are not read, because it did not look: ExitCode::config where it
// has seen less than an epoch on end, or no read of the tier, where files are missing in it, and of
// a run that read copies; ExitCode::environment where there is no such log; ExitCode::data where
// one cannot be read. Any thread.
SeenProfile seen_profile(const std::string& where, const SeenTier& tier);

}  // namespace stoker
