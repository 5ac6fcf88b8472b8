#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/core/config/registry.h"
#include "io/core/notify.h"

namespace stoker {

// A folder that a program saw through an emulated tier, and what it asked of it. A value.
struct ProgramTier {
  std::string folder;  // without links
  std::string tier;    // as it was told: "hdd"
  std::string mode;    // of the page cache: "drop", "cached", "direct"
  int64_t files = 0;
  uint64_t bytes = 0;  // of these files
  int64_t opens = 0, reads = 0, failed = 0;
  uint64_t bytes_read = 0;
  double waited_s = 0;    // of all reads and opens, one after the other
  double modelled_s = 0;  // of that, what the tier's device takes
  int64_t overruns = 0;   // operations that took longer than the model says
};

// The tiers of `stoker run --tier`. It needs libfuse and is in a library of its own, which is
// loaded when one is made. Made before this process has other threads: from then on it and what it
// starts have mounts (and, where it is not root, users) of their own, which end with the last of
// them. The folders are mounted from then to the destructor. One thread.
class ProgramTiers {
 public:
  static constexpr const char* kKind = "program tiers";
  struct Inputs {
    // FOLDER=TIER, TIER being a profile of an emulated tier, or a mapping of its figures.
    const std::vector<std::string>& tiers;
    const std::string& mode;
    const Notify& notify;
  };
  virtual ~ProgramTiers() = default;
  // What was asked until now, in the order of Inputs.
  virtual std::vector<ProgramTier> figures() const = 0;
};

template <>
Registry<ProgramTiers>& Registry<ProgramTiers>::global();

// Mounts them; null where there are none. Error(ExitCode::config) for a tier that is none,
// Error(ExitCode::environment) where a folder is not there, or nothing can be mounted here.
std::unique_ptr<ProgramTiers> program_tiers(const ProgramTiers::Inputs& inputs);

// A line for each: "data as hdd (EMULATED): 12 files opened, ...".
std::string tiers_text(const std::vector<ProgramTier>& tiers);

}  // namespace stoker
