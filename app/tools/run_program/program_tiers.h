#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/tools/run_program/program_io.h"
#include "io/core/config/registry.h"
#include "io/core/error.h"

namespace stoker {

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
  virtual std::vector<ProgramIo::Tier> figures() const = 0;
};

template <>
Registry<ProgramTiers>& Registry<ProgramTiers>::global();

// Mounts them; null where there are none. Error(ExitCode::config) for a tier that is none,
// Error(ExitCode::environment) where a folder is not there, or nothing can be mounted here.
std::unique_ptr<ProgramTiers> program_tiers(const ProgramTiers::Inputs& inputs);

// A line for each, which begins with "/data as hdd (EMULATED, page cache: drop): 12 opens".
std::string tiers_text(const std::vector<ProgramIo::Tier>& tiers);
// An object for each.
nlohmann::json tiers_json(const std::vector<ProgramIo::Tier>& tiers);

}  // namespace stoker
