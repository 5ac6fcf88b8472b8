#include "app/train/train.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/experiment/experiment.h"
#include "app/run/directory.h"
#include "app/run/end_within.h"
#include "app/run/log.h"
#include "app/run/start_watch.h"
#include "app/run/stop_signal.h"
#include "app/train/across_ranks.h"
#include "app/train/report.h"
#include "app/train/trainer.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/json.h"
#include "io/distributed/peers.h"

namespace stoker {
namespace {

// A rank that failed may wait for a store whose host was cut off for longer than any time-out.
constexpr std::chrono::seconds kGrace(5);

std::unique_ptr<Peers> meet(const Ranks& ranks, const ExperimentOptions& options) {
  if (!ranks.many()) return no_peers();
  if (options.training.cuda_graph) {
    throw Error(
        ExitCode::config,
        "training.cuda_graph is for one rank: a graph cannot hold the exchange of gradients; "
        "leave it out");
  }
  if (options.distributed) return meet_peers(ranks, *options.distributed);
  // Without `distributed` each process would train a model of its own.
  throw Error(ExitCode::config,
              fmt::format("this is {}, and the experiment has no `distributed:`: add distributed: "
                          "{{}} to train one model on all ranks, or start one process",
                          ranks.text()));
}

// One rank's part of the run.
ExitCode train_rank(const TrainArguments& arguments, const ExperimentOptions& options, RunLog& log,
                    StopSignal& stop, Peers& peers) {
  std::optional<StartWatch> start(options.run.hang_seconds);
  const RunDirectory directory(options, arguments.overrides, peers);
  log.also_to(directory.path() + "/log.txt");
  Experiment experiment(options, log.notify(), peers.ranks(), peers);
  Trainer trainer(experiment, directory, log, stop, peers);
  const RunMeter::State run = trainer.run([&start] { start.reset(); }).run;
  const auto code = static_cast<ExitCode>(run.exit_code.value_or(0));
  peers.leave(run.error);
  const bool speaks = peers.ranks().first();
  if (speaks && arguments.json) {
    fmt::print("{}\n", json_text(trainer.summary()));
  } else if (speaks && !arguments.quiet) {
    fmt::print("{}", summary_text(trainer.summary()));
  }
  if (trainer.abandoned()) {
    // A thread may be stuck in a system call, or the time after a signal is up: nothing waits for
    // it.
    std::fflush(nullptr);
    if (!run.error.empty()) end_now(Error(code, run.error));
    std::_Exit(static_cast<int>(code));
  }
  if (run.error.empty()) return code;
  const Error error(code, run.error);
  if (peers.ranks().many()) end_within(kGrace, error);
  throw error;
}

}  // namespace

ExitCode train(const TrainArguments& arguments) {
  StopSignal stop;
  const Ranks ranks = find_ranks([](const char* name) { return std::getenv(name); });
  share_cores(ranks.local_rank, ranks.local_world);
  RunLog log(arguments.quiet || !ranks.first(),
             ranks.many() ? fmt::format("rank {}: ", ranks.rank) : "");
  const ExperimentOptions options = read_experiment(
      arguments.config, arguments.overrides, [&](const std::string& text) { log.info(text); });
  if (ranks.many()) log.info(ranks.text());
  const std::unique_ptr<Peers> peers = meet(ranks, options);
  try {
    return train_rank(arguments, options, log, stop, *peers);
  } catch (const std::exception& error) {
    peers->leave(error.what());
    throw;
  }
}

}  // namespace stoker
