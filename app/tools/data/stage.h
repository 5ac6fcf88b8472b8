#pragma once

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker dataset stage` is asked for. A value.
struct StageArguments : ConfigArguments {
  bool dry_run = false;  // print what would be copied, and copy nothing
};

// `stoker dataset stage`: copies what the rule of the data set's tier chooses to its place for
// copies, one object after the other, ahead of a run; prints what was there, what was copied and
// what could not be read. What is there already is not copied again; what was copied before a
// failure stays. Error(ExitCode::config) where the data set's tier is not of type cached, or keeps
// its copies in memory; IoError where the tier for copies fails.
ExitCode stage_experiment(const StageArguments& arguments);

}  // namespace stoker
