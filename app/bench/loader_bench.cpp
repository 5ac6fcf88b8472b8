#include "app/bench/loader_bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/call_counts.h"
#include "app/base/child_process.h"
#include "app/base/json.h"
#include "app/base/progress_line.h"
#include "app/bench/loader_report.h"
#include "app/bench/scaling.h"

namespace stoker {
namespace {

LoaderReport measure(const LoaderBenchArguments& arguments) {
  Experiment experiment(read_experiment(arguments.config, arguments.overrides), print_remark);
  const ExperimentOptions& options = experiment.options();
  LoaderReport report{options.loader.type(),
                      to_json(options.loader.dump()),
                      to_json(options.decoder.dump()),
                      experiment.device().info().name,
                      std::max<int64_t>(1, options.loader.info().workers),
                      {},
                      BatchProbe(experiment.decoder().spec()),
                      {},
                      ""};
  report.measured = measure_loader(experiment, arguments.epochs,
                                   [&](const Batch& batch) { return report.probe.see(batch); });
  if (!arguments.dump.empty()) report.probe.dump(arguments.dump);
  if (arguments.quick) return report;
  CeilingOptions ceiling;
  ceiling.samples = arguments.ceiling_samples;
  ceiling.threads = report.workers;
  report.ceiling = measure_decode_ceiling(experiment.dataset(), ceiling);
  return report;
}

// Allocations and copies, counted in an epoch of a process of its own: counting costs time, and is
// done by replacing functions of the C library, which must happen before a process begins.
void count_calls(const LoaderBenchArguments& arguments, LoaderReport& report) {
  const auto counter = call_counter();
  if (!counter) {
    report.uncounted = "allocations and copies: this build has no library that counts them";
    return;
  }
  std::vector<std::string> words{"bench", "loader", arguments.config};
  words.insert(words.end(), arguments.overrides.begin(), arguments.overrides.end());
  for (const char* word : {"--epochs=1", "--quick", "--json"}) words.emplace_back(word);
  const ChildResult child = run_child(words, "/dev/null", {}, {"LD_PRELOAD=" + *counter});
  const auto output = nlohmann::json::parse(child.output, nullptr, false);
  if (child.exit_code != 0 || !output.is_object() || !output.contains("allocations_per_image")) {
    report.uncounted = fmt::format("allocations and copies: the process that counts ended with {}",
                                   child.exit_code);
    return;
  }
  report.measured.allocations = output.at("allocations_per_image").get<double>();
  report.measured.libjpeg_allocations = output.at("libjpeg_allocations_per_image").get<double>();
  report.measured.bytes_moved = output.at("copied_bytes_per_image").at("memory").get<double>();
}

void run_scaling(const LoaderBenchArguments& arguments) {
  Experiment experiment(read_experiment(arguments.config, arguments.overrides), print_remark);
  const ScalingBenchmark result = bench_scaling(experiment, arguments.scaling, arguments.epochs);
  fmt::print("{}",
             arguments.json ? scaling_json(result, experiment) : scaling_text(result, experiment));
  if (!result.exact_order()) {
    throw Error(ExitCode::bug, "bench loader: the batches depend on the number of workers");
  }
}

}  // namespace

ExitCode bench_loader(const LoaderBenchArguments& arguments) {
  if (!arguments.scaling.empty()) {
    run_scaling(arguments);
    return ExitCode::ok;
  }
  LoaderReport report = measure(arguments);
  if (!arguments.quick) count_calls(arguments, report);
  fmt::print(
      "{}", arguments.json ? loader_report_json(report).dump() + "\n" : loader_report_text(report));
  return ExitCode::ok;
}

}  // namespace stoker
