#pragma once

#include <string>

#include "io/core/config/registry.h"
#include "io/storage/storage.h"

namespace stoker {

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
