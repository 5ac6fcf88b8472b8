#include "app/train/train.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/experiment/experiment.h"
#include "app/run/directory.h"
#include "app/run/log.h"
#include "app/run/start_watch.h"
#include "app/run/stop_signal.h"
#include "app/train/report.h"
#include "app/train/trainer.h"
#include "io/core/json.h"

namespace stoker {

ExitCode train(const TrainArguments& arguments) {
  const StopSignal stop;
  RunLog log(arguments.quiet);
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  std::optional<StartWatch> start(options.run.hang_seconds);
  const RunDirectory directory(options, arguments.overrides);
  log.also_to(directory.path() + "/log.txt");
  Experiment experiment(options, log.notify());
  Trainer trainer(experiment, directory, log, stop);
  const RunMeter::State run = trainer.run([&start] { start.reset(); }).run;
  const auto code = static_cast<ExitCode>(run.exit_code.value_or(0));
  if (arguments.json) {
    fmt::print("{}\n", json_text(trainer.summary()));
  } else if (!arguments.quiet) {
    fmt::print("{}", summary_text(trainer.summary()));
  }
  if (trainer.abandoned()) {
    // A thread may be stuck in a system call, or the time after a signal is up: nothing waits for
    // it.
    if (!run.error.empty()) log.warn(run.error);
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }
  if (!run.error.empty()) throw Error(code, run.error);
  return code;
}

}  // namespace stoker
