#pragma once

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker train` is asked for. A value.
struct TrainArguments : ConfigArguments {
  bool quiet = false;  // warnings and errors only
};

// `stoker train`: runs an experiment, leaves its run directory and prints the summary. One thread.
// Throws Error for what ended the run, after its files were written. Where checkpoints had to be
// abandoned the process ends here: a thread of theirs may be stuck for ever.
ExitCode train(const TrainArguments& arguments);

}  // namespace stoker
