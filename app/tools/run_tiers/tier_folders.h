#pragma once

#include <string>

#include "io/core/config/registry.h"
#include "io/storage/storage.h"

namespace stoker {

// From now on this process and those that it starts have mounts of their own, so that what is
// mounted is seen by nobody else and ends with the last of them. Root needs nothing else; others
// (and a root that may not) get a user namespace in which they are who they are. The working folder
// stays. Before other threads are started, once. Error(ExitCode::environment) where the system
// forbids it, with what to do.
void take_own_mounts();

// Once more into the working folder by its path, for something may have been mounted on it or
// above.
void enter_working_folder_again();

// A word of `stoker run --tier`, taken apart. A value.
struct TierWord {
  std::string folder;
  std::string tier;
};

// FOLDER=TIER; a folder may have "=" in its name, a profile has none. Error(ExitCode::config).
TierWord parse_tier_word(const std::string& word);

// The tier over the files of `root`: of a profile ("hdd"), or of figures in a YAML mapping
// ("{profile: hdd, read_mb_per_s: 50}"). It shares its device with no other process.
// Error(ExitCode::config) where it is neither.
Component<Storage> tier_over(const std::string& root, const std::string& tier);

}  // namespace stoker
