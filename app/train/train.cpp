#include "app/train/train.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/experiment/experiment.h"
#include "app/run/directory.h"
#include "app/run/log.h"
#include "app/run/stop_signal.h"
#include "app/train/report.h"
#include "app/train/trainer.h"

namespace stoker {

ExitCode train(const TrainArguments& arguments) {
  const StopSignal stop;
  RunLog log(arguments.quiet);
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const RunDirectory directory(options, arguments.overrides);
  log.also_to(directory.path() + "/log.txt");
  Experiment experiment(options, log.notify());
  Trainer trainer(experiment, directory, log, stop);
  const TrainingResult result = trainer.run();
  if (arguments.json) {
    fmt::print("{}\n", summary_json(experiment, directory, result).dump());
  } else if (!arguments.quiet) {
    fmt::print("{}", summary_text(experiment, directory, result));
  }
  if (!result.error.empty() && !result.checkpoints_abandoned) {
    throw Error(result.exit_code, result.error);
  }
  if (result.checkpoints_abandoned) {
    // A thread may be stuck in a system call, or the time after a signal is up: nothing waits for
    // it.
    if (!result.error.empty()) log.warn(result.error);
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(result.exit_code));
  }
  return result.exit_code;
}

}  // namespace stoker
