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

// What `stoker launch` is asked for. A value.
struct LaunchArguments : TrainArguments {
  int64_t ranks = 1;
};

// `stoker launch`: starts `stoker train` once for each rank on this machine, serves the store at
// which they meet, and passes SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 on to all. Whatever ends
// this process ends them. When one ends with an error, the others end, too: by themselves, else
// after a while by SIGTERM and SIGKILL. The exit code is that of the first one which failed (a
// killed one's: ExitCode::device). One thread. Error as read_experiment(), before anything is
// started.
ExitCode launch(const LaunchArguments& arguments);

}  // namespace stoker
