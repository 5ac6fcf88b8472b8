#pragma once

#include <optional>
#include <string>

#include "app/base/config_arguments.h"
#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker advise` is asked for. A value.
struct AdviseArguments : ConfigArguments {  // config: a YAML file, or the directory of a run
  // Of these, one: bytes that may be staged; or the rule, to stage all objects below so many bytes.
  std::optional<ByteSize> capacity;
  std::optional<ByteSize> max_file;
  // The fast tier, by its name under storage:, where the data set's tier is of no type cached.
  std::string fast;
  // Outputs of `bench storage --fit --json`: what reads of the tiers cost. Empty: emulated, memory.
  std::string slow_fit;
  std::string fast_fit;
  // What was seen of reads, in the place of what the configuration says: a log of Darshan's, or the
  // directory of a run with I/O profiles; "none": nothing. Empty: the run's own, where it has them
  // and they say it.
  std::string profile;
  // The file of the plan.
  std::string output = "plan.json";
  // Trains by it, which stages during the first epoch, and shows what came of the prediction.
  bool automatic = false;
};

// `stoker advise`: says which objects of a data set's tier to stage for the most time saved, what a
// run would take then, and writes that as a plan. Of a run that staged by a plan, and without
// capacity and max_file: how its epochs lie to what was predicted. Prints the result. Error:
// ExitCode::config where the tiers or what they cost are not known, and as the experiment's parts;
// IoError.
ExitCode advise(const AdviseArguments& arguments);

}  // namespace stoker
