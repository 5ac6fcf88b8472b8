#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench/checkpoint.h"
#include "app/bench/decode.h"
#include "app/commands/commands.h"
#include "app/run/log.h"
#include "app/base/statistics.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  int64_t samples = 0;
  int64_t rounds = 5;
  std::vector<std::string> versus;
  bool json = false;
};

Experiment open(const Arguments& arguments, RunLog& log) {
  return Experiment(read_experiment(arguments.config, arguments.overrides), log.notify());
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

std::string ms_text(const std::vector<double>& times) {
  const Spread s = spread(times);
  return fmt::format("p50 {:8.1f}  p99 {:8.1f}  max {:8.1f}  first {:8.1f} ms", 1e3 * s.median,
                     1e3 * s.p99, 1e3 * s.max, 1e3 * times.front());
}

std::vector<double> column(const CheckpointBenchmark& result, double SaveCost::*field) {
  std::vector<double> values;
  for (const SaveCost& save : result.saves) values.push_back(save.*field);
  return values;
}

nlohmann::json checkpoint_json(const CheckpointBenchmark& result) {
  nlohmann::json json = {{"name", "stoker-" + result.type + "-" + result.snapshot},
                         {"type", result.type},
                         {"snapshot", result.snapshot},
                         {"durability", result.durability},
                         {"device", result.device},
                         {"set_bytes", result.set_bytes},
                         {"threads", result.threads},
                         {"saves", result.saves.size()},
                         {"stall_s", spread(column(result, &SaveCost::stall_s))},
                         {"saved_s", spread(column(result, &SaveCost::saved_s))},
                         {"durable_s", spread(column(result, &SaveCost::durable_s))},
                         {"memcpy_s", spread(column(result, &SaveCost::memcpy_s))},
                         {"first",
                          {{"stall_s", result.saves.front().stall_s},
                           {"saved_s", result.saves.front().saved_s},
                           {"durable_s", result.saves.front().durable_s}}},
                         {"load_s", spread(result.load_s)}};
  if (!result.drain_s.empty()) json["drain_s"] = spread(result.drain_s);
  for (const TierCost& tier : result.tiers) {
    json["tiers"][tier.tier] = {{"write_s", spread(tier.write_s)}, {"read_s", spread(tier.read_s)}};
  }
  return json;
}

void print_checkpoint(const CheckpointBenchmark& result) {
  const double megabytes = 1e-6 * static_cast<double>(result.set_bytes);
  fmt::print("{} saves of {:.1f} MB, checkpoint {} ({}), durability {}, {} threads, on {}\n",
             result.saves.size(), megabytes, result.type, result.snapshot, result.durability,
             result.threads, result.device);
  const std::vector<double> saved = column(result, &SaveCost::saved_s);
  fmt::print("  stall                 {}\n", ms_text(column(result, &SaveCost::stall_s)));
  fmt::print("  memcpy of as much     {}\n", ms_text(column(result, &SaveCost::memcpy_s)));
  fmt::print("  saved, first tier     {}\n", ms_text(saved));
  if (!result.drain_s.empty()) fmt::print("  drain                 {}\n", ms_text(result.drain_s));
  fmt::print("  durable, last tier    {}\n", ms_text(column(result, &SaveCost::durable_s)));
  fmt::print("  load and verify       {}\n", ms_text(result.load_s));
  for (const TierCost& tier : result.tiers) {
    fmt::print("  tier {:<8} by itself: writes {:.0f} MB/s, reads {:.0f} MB/s (medians)\n",
               tier.tier, megabytes / spread(tier.write_s).median,
               megabytes / spread(tier.read_s).median);
  }
  fmt::print("  saved at {:.0f} MB/s, loaded at {:.0f} MB/s (medians)\n",
             megabytes / spread(saved).median, megabytes / spread(result.load_s).median);
}

void run_checkpoint(const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back(fmt::format("checkpoint.directory=bench-{}", getpid()));
  overrides.push_back("checkpoint.resume=none");
  const CheckpointBenchmark result =
      bench_checkpoint(read_experiment(arguments.config, overrides), arguments.rounds);
  if (arguments.json) {
    fmt::print("{}\n", checkpoint_json(result).dump());
  } else {
    print_checkpoint(result);
  }
}

}  // namespace

void add_bench(CLI::App& app, ExitCode& result) {
  CLI::App* bench = app.add_subcommand("bench", "Measure parts of the pipeline by themselves");
  bench->require_subcommand(1);
  add_bench_read(*bench, result);

  add_bench_loader(*bench, result);

  auto decode = std::make_shared<Arguments>();
  CLI::App* command = bench->add_subcommand(
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

  auto checkpoint = std::make_shared<Arguments>();
  command = bench->add_subcommand(
      "checkpoint", "Save and load the state of the model and its optimizer, on its own tiers");
  add_config_arguments(*command, *checkpoint);
  command->add_option("--rounds", checkpoint->rounds, "saves and loads")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", checkpoint->json, "print one line of JSON");
  command->callback([checkpoint, &result] {
    run_checkpoint(*checkpoint);
    result = ExitCode::ok;
  });

  add_bench_storage(*bench, result);
  add_bench_train(*bench, result);
}

}  // namespace stoker
