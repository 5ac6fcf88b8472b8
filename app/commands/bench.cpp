#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands/bench_decode.h"
#include "app/commands/bench_loader.h"
#include "app/commands/commands.h"
#include "app/json.h"
#include "app/run_log.h"
#include "app/statistics.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  int64_t epochs = 3;
  int64_t samples = 0;
  int64_t rounds = 5;
  std::vector<std::string> versus;
  bool json = false;
};

Experiment open(const Arguments& arguments, RunLog& log) {
  return Experiment(read_experiment(arguments.config, arguments.overrides), log.notify());
}

void run_loader(const Arguments& arguments) {
  RunLog log(false);
  Experiment experiment = open(arguments, log);
  const LoaderBenchmark result = bench_loader(experiment, arguments.epochs);
  const Spread rate = spread(result.images_per_s);
  const std::string type = experiment.options().loader.type();
  if (arguments.json) {
    const nlohmann::json json = {{"name", "stoker-" + type},
                                 {"loader", to_json(experiment.options().loader.dump())},
                                 {"decoder", to_json(experiment.options().decoder.dump())},
                                 {"device", experiment.device().info().name},
                                 {"epochs", arguments.epochs},
                                 {"images", result.images},
                                 {"images_per_s", rate},
                                 {"rates", result.images_per_s},
                                 {"first_batch_s", result.first_batch_s},
                                 {"cpu_s_per_1000", result.cpu_s_per_1000},
                                 {"read_us", result.read_us},
                                 {"decode_us", result.decode_us},
                                 {"bytes_per_image", result.bytes_per_image},
                                 {"skipped", result.skipped},
                                 {"page_cache", "as it was; one warm-up epoch"}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}: {:.0f} images/s (median of {} epochs of {} images; min {:.0f}, max {:.0f})\n",
             type, rate.median, arguments.epochs, result.images, rate.min, rate.max);
  fmt::print(
      "  {:.3f} CPU seconds per 1,000 images; per image {:.1f} us reading, {:.1f} us "
      "decoding, {:.0f} bytes\n",
      result.cpu_s_per_1000, result.read_us, result.decode_us, result.bytes_per_image);
  fmt::print("  first batch of the warm-up epoch after {:.3f} s; {} bad samples replaced\n",
             result.first_batch_s, result.skipped);
  fmt::print(
      "  page cache as it was, after one warm-up epoch; no model, batches dropped at once\n");
}

void run_decode(const Arguments& arguments) {
  RunLog log(false);
  const Experiment experiment = open(arguments, log);
  const auto results =
      bench_decode(experiment, arguments.versus, arguments.samples, arguments.rounds);
  nlohmann::json json = nlohmann::json::array();
  for (const DecodeBenchmark& result : results) {
    const Spread us = spread(result.us_per_image);
    json.push_back(
        {{"decoder", result.decoder}, {"us_per_image", us}, {"rounds", arguments.rounds}});
    if (arguments.json) continue;
    fmt::print(
        "{:<12} {:7.1f} us per image (median of {} rounds; min {:.1f}, max {:.1f}), {:.0f} "
        "images/s and thread\n",
        result.decoder, us.median, arguments.rounds, us.min, us.max, 1e6 / us.median);
  }
  if (arguments.json) fmt::print("{}\n", json.dump());
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& result) {
  CLI::App* bench = app.add_subcommand("bench", "Measure parts of the pipeline by themselves");
  bench->require_subcommand(1);

  auto loader = std::make_shared<Arguments>();
  CLI::App* command = bench->add_subcommand(
      "loader", "Images/s of the configured loader without a model: a warm-up epoch, then epochs");
  add_config_arguments(*command, *loader);
  command->add_option("--epochs", loader->epochs, "measured epochs")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", loader->json, "print one line of JSON");
  command->callback([loader, &result] {
    run_loader(*loader);
    result = ExitCode::ok;
  });

  auto decode = std::make_shared<Arguments>();
  command = bench->add_subcommand(
      "decode", "Time per image of the configured decoder on one thread, files in memory");
  add_config_arguments(*command, *decode);
  command->add_option("--versus", decode->versus, "other decoders to time in the same rounds");
  command->add_option("--samples", decode->samples, "samples to decode; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--rounds", decode->rounds, "interleaved rounds")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", decode->json, "print one line of JSON");
  command->callback([decode, &result] {
    run_decode(*decode);
    result = ExitCode::ok;
  });
}

}  // namespace stoker
