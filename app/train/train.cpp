#include "app/train/train.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>

#include "app/experiment/experiment.h"
#include "app/process/failure.h"
#include "app/process/log.h"
#include "app/process/start_watch.h"
#include "app/process/stop_signal.h"
#include "app/run/directory.h"
#include "app/train/ranks/across_ranks.h"
#include "app/train/report.h"
#include "app/train/trainer.h"
#include "app/train/wait_watch.h"
#include "app/train/windows/io_window.h"
#include "io/core/system/standard_streams.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/json.h"
#include "io/core/threads.h"
#include "io/distributed/peers.h"

namespace stoker {
namespace {

// A rank that failed may wait for a store whose host was cut off for longer than any time-out.
constexpr std::chrono::seconds kGrace(5);
// What a run that was asked to stop may take beyond grace_seconds, for its summary.
constexpr std::chrono::milliseconds kLastWords(1700);

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

// Why a run that was asked to stop is ended by force.
Error not_in_time(const StopSignal& stop, double grace) {
  return {stop.exit_code(),
          fmt::format("the run was asked to stop and has not ended within checkpoint.grace_seconds "
                      "({:g} s), for a step takes longer or a call on a file system does not come "
                      "back: start it again, and it goes on from its last checkpoint",
                      grace)};
}

// Opens the data, which may take long. Interrupted where a signal asks to stop meanwhile.
std::unique_ptr<Experiment> open_experiment(const ExperimentOptions& options, RunLog& log,
                                            const StopSignal& stop, Peers& peers) {
  const std::string tier = options.dataset.info().tier;
  const WaitWatch watch(
      [&, begin = Clock::now()] {
        return LongWait{"the data set to be opened", tier.empty() ? "" : "tier '" + tier + "'",
                        seconds(Clock::now() - begin)};
      },
      [&log](const std::string& text) { log.warn(text); });
  const Interruptible scope(stop.token());
  return std::make_unique<Experiment>(options, log.notify(), peers.ranks(), peers);
}

// What the run came to, on standard output. Where that cannot be written, a run that had failed or
// was stopped keeps its exit code.
void print_summary(const TrainArguments& arguments, const nlohmann::json& summary, ExitCode code,
                   RunLog& log) {
  try {
    if (arguments.json) {
      write_stdout(json_text(summary) + "\n");
    } else if (!arguments.quiet) {
      write_stdout(summary_text(summary, output_has_colours()));
    }
  } catch (const IoError& error) {
    if (code == ExitCode::ok) throw;
    log.warn(error.what());
  }
}

// One rank's part of the run.
ExitCode train_rank(const TrainArguments& arguments, const ExperimentOptions& options, RunLog& log,
                    StopSignal& stop, Peers& peers) {
  require_same_configuration(peers, options);
  std::optional<StartWatch> start(options.run.hang_seconds);
  RunDirectory directory(options, arguments.overrides, peers,
                         [&log](const std::string& text) { log.warn(text); });
  log.also_to(directory.path() + "/log.txt");
  const std::unique_ptr<Experiment> experiment = open_experiment(options, log, stop, peers);
  Trainer trainer(*experiment, directory, log, stop, peers);
  const RunMeter::State run = trainer.run([&start] { start.reset(); }).run;
  const auto code = static_cast<ExitCode>(run.exit_code.value_or(0));
  peers.leave(run.error);
  if (peers.ranks().first()) print_summary(arguments, trainer.summary(), code, log);
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
  take_session_signal();
  const Ranks ranks = find_ranks([](const char* name) { return std::getenv(name); });
  share_cores(ranks.local_rank, ranks.local_world);
  RunLog log(arguments.quiet || !ranks.first(),
             ranks.many() ? fmt::format("rank {}: ", ranks.rank) : "");
  const ExperimentOptions options = read_experiment(
      arguments.config, arguments.overrides, [&](const std::string& text) { log.info(text); });
  if (ranks.many()) log.info(ranks.text());
  if (options.distributed && ranks.launcher.empty()) {
    log.warn(
        "there is `distributed:`, but no launcher that is known has started this process, so it "
        "trains alone: start it by `stoker launch --ranks N`, torchrun, mpirun or srun, or leave "
        "`distributed:` out");
  }
  const double grace = options.checkpoint.info().grace_seconds;
  const std::stop_callback in_time(stop.token(), [&] {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(from_seconds(grace));
    end_within(time + kLastWords, not_in_time(stop, grace));
  });
  const std::unique_ptr<Peers> peers = meet(ranks, options);
  try {
    return train_rank(arguments, options, log, stop, *peers);
  } catch (const std::exception& error) {
    // A rank that was asked to stop while it opened its data, and those that waited for it there.
    const bool lost = stop.requested() && dynamic_cast<const RankLost*>(&error) != nullptr;
    const bool given_up = lost || dynamic_cast<const Interrupted*>(&error) != nullptr;
    peers->leave(given_up ? "" : error.what());
    if (!given_up) throw;
    log.warn("stopped by a signal before the first step");
    return stop.exit_code();
  }
}

}  // namespace stoker
