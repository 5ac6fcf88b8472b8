#pragma once

#include <optional>
#include <string>

#include "app/base/command_line.h"
#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker advise` is asked for. A value.
struct AdviseArguments : ConfigArguments {  // config: a YAML file, or the directory of a run
  // One of these two is given: how many bytes may be staged, or below which size every object is
  // staged.
  std::optional<ByteSize> capacity;
  std::optional<ByteSize> max_file;
  // The fast tier, by its name under storage:. Needed if the data set's tier is not of type cached.
  std::string fast;
  // Files with the output of `bench storage --fit --json`, which say what reads of the tiers cost.
  // Empty: the tier is emulated, or memory.
  std::string slow_fit;
  std::string fast_fit;
  // Count reads from this Darshan log, or directory of a run with I/O profiles, instead of deriving
  // them from the configuration. "none": derive them. Empty: use the run's own profiles, if it has
  // any that say it.
  std::string profile;
  // The file of the plan.
  std::string output = "plan.json";
  // Train with the plan, which stages during the first epoch, and compare with the prediction.
  bool automatic = false;
};

// `stoker advise`: says which objects of a data set's tier to stage for the most time saved, what a
// run would take then, and writes that as a plan. For a run that staged by a plan, and without
// capacity and max_file, it says how the times of its epochs compare with the prediction. Prints
// the result. Error: ExitCode::config where the tiers or what they cost are not known, and the
// errors of the experiment's parts; IoError.
ExitCode advise(const AdviseArguments& arguments);

}  // namespace stoker
