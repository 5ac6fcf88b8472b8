#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/bench/storage_report.h"
#include "app/commands/commands.h"
#include "app/experiment/options.h"
#include "app/run/log.h"
#include "app/run/stop_signal.h"
#include "io/metrics/tier_meter.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  std::string tier;
  std::string block_size = "64MiB";
  std::string transfer_size = "1MiB";
  std::vector<int64_t> threads{1, 2, 4, 8};
  std::string pattern = "sequential";
  std::string op = "read";
  bool file_per_thread = false;
  StorageWorkload workload;
  int64_t rounds = 3;
  bool fit = false;
  bool json = false;
};

std::vector<StorageResult> plan(const Arguments& arguments) {
  std::vector<StorageResult> results;
  for (const bool write : {false, true}) {
    if (arguments.op == (write ? "read" : "write")) continue;
    for (const int64_t threads : arguments.threads) {
      StorageWorkload workload = arguments.workload;
      workload.write = write;
      workload.threads = threads;
      results.push_back({workload, {}});
    }
  }
  return results;
}

// Rounds alternate between the numbers of threads, so that a drift of the device meets all of them.
// The first does not count: it pays for memory and blocks that nobody has touched before.
std::vector<StorageResult> measure(StorageBench& bench, const Arguments& arguments,
                                   const StopSignal& stop) {
  std::vector<StorageResult> results = plan(arguments);
  for (const StorageResult& result : results) bench.prepare(result.workload);
  for (int64_t round = 0; round <= arguments.rounds; ++round) {
    for (StorageResult& result : results) {
      if (stop.requested()) return results;
      const StorageRound done = bench.run(result.workload, static_cast<uint64_t>(round));
      if (round > 0) result.rounds.push_back(done);
    }
  }
  return results;
}

void describe(StorageBenchInfo& info, const StorageBench& bench, const TierMeter& meter) {
  const TierMeter::State state = meter.state();
  info.direct = bench.direct();
  info.conditions = state.conditions;
  info.overruns = state.overruns;
}

ExitCode run(Arguments& arguments) {
  RunLog log(false);
  StorageWorkload& workload = arguments.workload;
  workload.block_bytes = parse_bytes("--block-size", arguments.block_size);
  workload.transfer_bytes = parse_bytes("--transfer-size", arguments.transfer_size);
  workload.random = arguments.pattern == "random";
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const auto found = options.storage.find(arguments.tier);
  if (found == options.storage.end()) {
    std::vector<std::string> names;
    for (const auto& [name, tier] : options.storage) names.push_back(name);
    throw Error(ExitCode::config, fmt::format("unknown storage tier '{}'{}", arguments.tier,
                                              suggestion(arguments.tier, names)));
  }
  const std::string type = found->second.type();
  StorageBenchInfo info{arguments.tier, type, type == "emulated", false, 0, {}};
  Tracer tracer;
  TierMeter meter(info.tier, type, info.emulated, tracer);
  const auto tier = found->second.create({info.tier, log.notify(), nullptr, &meter});
  if (tier->files() == nullptr) workload.objects = true;
  const StopSignal stop;
  StorageBench bench(*tier, [&stop] { return stop.requested(); });
  std::vector<StorageResult> results;
  StorageFit fit;
  if (arguments.fit) {
    // The page cache is none of a device's figures.
    workload.cold = workload.cold || (bench.has_files() && !info.emulated);
    fit = fit_storage(bench, workload, arguments.threads, arguments.rounds);
  } else {
    results = measure(bench, arguments, stop);
  }
  if (stop.requested()) {
    log.warn("stopped: nothing is reported");
    return stop.exit_code();
  }
  describe(info, bench, meter);
  if (arguments.fit) {
    print_storage_fit(info, workload, fit, arguments.json);
  } else {
    print_storage(info, results, arguments.json);
  }
  return ExitCode::ok;
}

void add_workload_options(CLI::App& command, Arguments& arguments) {
  StorageWorkload& workload = arguments.workload;
  command.add_option("--block-size", arguments.block_size, "bytes of each thread")
      ->capture_default_str();
  command.add_option("--transfer-size", arguments.transfer_size, "bytes of one read or write")
      ->capture_default_str();
  command.add_option("--threads", arguments.threads, "numbers of threads to measure")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--pattern", arguments.pattern, "random: every offset once, shuffled")
      ->check(CLI::IsMember({"sequential", "random"}))
      ->capture_default_str();
  command.add_option("--op", arguments.op, "what is measured")
      ->check(CLI::IsMember({"read", "write", "both"}))
      ->capture_default_str();
  command.add_flag("--fsync", workload.sync, "sync files before they are closed");
  CLI::Option* own =
      command.add_flag("--file-per-thread", arguments.file_per_thread, "as it is by default");
  command.add_flag("--shared", workload.shared, "one file, a segment for each thread")
      ->excludes(own);
  command.add_flag("--objects", workload.objects,
                   "each read opens and closes, as a loader's does; else files stay open");
  command.add_flag("--cold", workload.cold,
                   "evict the files before each round of reads; rounds that begin with more than "
                   "1 % cached are left out");
  command
      .add_option("--seconds", workload.limit_s, "end a round after so long; 0: when all is done")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

void add_bench_storage(CLI::App& bench, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand(
      "storage", "Bandwidth, IOPS and latency of one tier over threads, as IOR measures them");
  command->add_option("CONFIG", arguments->config, "experiment, a YAML file")->required();
  command->add_option("TIER", arguments->tier, "its name under storage:")->required();
  command->add_option("OVERRIDES", arguments->overrides, "a.b=value, in the place of the file's")
      ->type_name("a.b=c");
  add_workload_options(*command, *arguments);
  command
      ->add_option("--rounds", arguments->rounds,
                   "repetitions, after one that does not count; medians are shown")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--fit", arguments->fit,
                    "measure what an emulated tier needs to behave like this one, and print its "
                    "YAML; reads begin cold; --pattern, --op and --fsync do not matter");
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] { result = run(*arguments); });
}

}  // namespace stoker
