#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/base/call_counts.h"
#include "app/base/child_process.h"
#include "app/base/json.h"
#include "app/bench/loader_report.h"
#include "app/bench/scaling.h"
#include "app/commands/commands.h"
#include "app/run/log.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  int64_t epochs = 3;
  int64_t ceiling_samples = CeilingOptions{}.samples;
  std::vector<int64_t> scaling;
  std::string dump;
  bool quick = false;
  bool json = false;
};

// Workers as there are: `sync` has none and does their work itself.
int64_t threads_of(const LoaderReport& report) {
  if (report.type == "sync") return 1;
  const nlohmann::json& workers = report.loader.at("workers");
  return Workers{workers.is_number() ? workers.get<int64_t>() : 0}.resolve();
}

LoaderReport measure(const Arguments& arguments) {
  RunLog log(false);
  Experiment experiment(read_experiment(arguments.config, arguments.overrides), log.notify());
  const ExperimentOptions& options = experiment.options();
  LoaderReport report{options.loader.type(),
                      to_json(options.loader.dump()),
                      to_json(options.decoder.dump()),
                      experiment.device().info().name,
                      0,
                      {},
                      BatchProbe(experiment.decoder().spec()),
                      {},
                      ""};
  report.workers = threads_of(report);
  report.measured = bench_loader(experiment, arguments.epochs,
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
void count_calls(const Arguments& arguments, LoaderReport& report) {
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

void run_scaling(const Arguments& arguments) {
  RunLog log(false);
  Experiment experiment(read_experiment(arguments.config, arguments.overrides), log.notify());
  const ScalingBenchmark result = bench_scaling(experiment, arguments.scaling, arguments.epochs);
  fmt::print("{}",
             arguments.json ? scaling_json(result, experiment) : scaling_text(result, experiment));
  if (!result.exact_order()) {
    throw Error(ExitCode::bug, "bench loader: the batches depend on the number of workers");
  }
}

void run(const Arguments& arguments) {
  LoaderReport report = measure(arguments);
  if (!arguments.quick) count_calls(arguments, report);
  if (arguments.json) {
    fmt::print("{}\n", loader_report_json(report).dump());
  } else {
    fmt::print("{}", loader_report_text(report));
  }
}

}  // namespace

void add_bench_loader(CLI::App& bench, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand(
      "loader",
      "Images/s of the configured loader without a model (a warm-up epoch, then epochs), beside "
      "what libjpeg-turbo alone does with the same files");
  add_config_arguments(*command, *arguments);
  command->add_option("--epochs", arguments->epochs, "measured epochs")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option(
          "--ceiling-samples", arguments->ceiling_samples,
          "files that libjpeg-turbo decodes for comparison; 0: all, or as many as 256 MiB hold")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--scaling", arguments->scaling,
                   "instead: one row per number of workers (1,2,4), measured in turn")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024));
  command->add_option("--dump", arguments->dump,
                      "write the pixels of the first epoch's first batch: a NumPy file (.npy)");
  command->add_flag("--quick", arguments->quick,
                    "only the loader: no comparison, no counting of allocations and copies");
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] {
    arguments->scaling.empty() ? run(*arguments) : run_scaling(*arguments);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
