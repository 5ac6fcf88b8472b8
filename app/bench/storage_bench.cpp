#include <fmt/format.h>

#include "app/bench/rounds.h"
#include "app/bench/storage.h"
#include "app/bench/storage_report.h"
#include "app/bench/tier_conditions.h"
#include "app/experiment/options.h"
#include "app/run/log.h"
#include "app/run/stop_signal.h"

namespace stoker {
namespace {

std::vector<StorageResult> workloads_of(const StorageBenchArguments& arguments,
                                        const StorageWorkload& like) {
  std::vector<StorageResult> results;
  for (const bool write : {false, true}) {
    if (arguments.op == (write ? "read" : "write")) continue;
    for (const int64_t threads : arguments.threads) {
      StorageWorkload workload = like;
      workload.write = write;
      workload.threads = threads;
      results.push_back({workload, {}});
    }
  }
  return results;
}

std::vector<StorageResult> measure(StorageBench& bench, const StorageBenchArguments& arguments,
                                   const StorageWorkload& like, const StopSignal& stop) {
  std::vector<StorageResult> results = workloads_of(arguments, like);
  for (const StorageResult& result : results) bench.prepare(result.workload);
  interleave(results, arguments.rounds, 1, [&](StorageResult& result, int64_t round) {
    if (stop.requested()) return false;
    const StorageRound done = bench.run(result.workload, static_cast<uint64_t>(round + 1));
    if (round >= 0) result.rounds.push_back(done);
    return true;
  });
  return results;
}

const Component<Storage>& find_tier(const ExperimentOptions& options, const std::string& name) {
  const auto found = options.storage.find(name);
  if (found != options.storage.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, tier] : options.storage) names.push_back(known);
  throw Error(ExitCode::config,
              fmt::format("unknown storage tier '{}'{}", name, suggestion(name, names)));
}

StorageWorkload workload_of(const StorageBenchArguments& arguments) {
  StorageWorkload workload = arguments.workload;
  workload.block_bytes = arguments.block_size.bytes;
  workload.transfer_bytes = arguments.transfer_size.bytes;
  workload.random = arguments.pattern == "random";
  return workload;
}

}  // namespace

ExitCode bench_storage(const StorageBenchArguments& arguments) {
  RunLog log(false);
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const Component<Storage>& component = find_tier(options, arguments.tier);
  const bool emulated = component.info().emulated;
  Hub hub;
  TierMeter& meter = hub.add_tier(arguments.tier, component.type(), emulated);
  const auto tier = component.create({arguments.tier, log.notify(), &hub, &meter});
  StorageWorkload workload = workload_of(arguments);
  if (tier->files() == nullptr) workload.objects = true;
  const StopSignal stop;
  StorageBench bench(*tier, [&stop] { return stop.requested(); });
  std::vector<StorageResult> results;
  StorageFit fit;
  if (arguments.fit) {
    // The page cache is none of a device's figures.
    workload.cold = workload.cold || (bench.has_files() && !emulated);
    fit = fit_storage(bench, workload, arguments.threads, arguments.rounds);
  } else {
    results = measure(bench, arguments, workload, stop);
  }
  if (stop.requested()) {
    log.warn("stopped: nothing is reported");
    return stop.exit_code();
  }
  const StorageBenchInfo info{arguments.tier, component.type(), emulated, bench.direct(),
                              parts_of_tier(hub, arguments.tier)};
  if (arguments.fit) {
    print_storage_fit(info, workload, fit, arguments.json);
  } else {
    print_storage(info, results, arguments.json);
  }
  return ExitCode::ok;
}

}  // namespace stoker
