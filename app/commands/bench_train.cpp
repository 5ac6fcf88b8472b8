#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/bench/train.h"
#include "app/commands/commands.h"
#include "app/base/statistics.h"
#include "io/loader/loader.h"

namespace stoker {
namespace {

struct Arguments : ConfigArguments {
  TrainBench bench;
  std::vector<int64_t> threads;
  std::vector<int64_t> workers;
  bool bare = false;
  double at_most = 0;  // percent; 0: not asked
  bool json = false;
};

nlohmann::json steps_json(const TrainSteps& steps) {
  nlohmann::json json = {{"step_s", spread(steps.step_s)},
                         {"images_per_s", spread(steps.rate)},
                         {"steps", steps.step_s.size()}};
  if (!steps.outside_s.empty()) {
    json["data_wait_share"] = steps.wait_s / steps.wall_s();
    json["outside_compute_us"] = 1e6 * spread(steps.outside_s).median;
  }
  return json;
}

double rate(const TrainSplit& split) { return spread(split.measured.rate).median; }

std::string overrides_of(const TrainSplit& split) {
  return fmt::format("training.threads={} loader.workers={}", split.threads, split.workers);
}

void print_splits(const Arguments& arguments, const std::vector<TrainSplit>& splits) {
  const TrainSplit& best =
      *std::max_element(splits.begin(), splits.end(),
                        [](const TrainSplit& a, const TrainSplit& b) { return rate(a) < rate(b); });
  if (arguments.json) {
    nlohmann::json json = {{"name", "bench train"},
                           {"config", arguments.config},
                           {"device", best.measured.device},
                           {"batch_size", best.measured.batch_size},
                           {"rounds", arguments.bench.rounds},
                           {"best", overrides_of(best)},
                           {"splits", nlohmann::json::array()}};
    for (const TrainSplit& split : splits) {
      nlohmann::json row = steps_json(split.measured);
      row["threads"] = split.threads;
      row["workers"] = split.workers;
      json["splits"].push_back(std::move(row));
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{} rounds of {} steps of {} images on {}, after {} steps; medians\n",
             arguments.bench.rounds, arguments.bench.steps, best.measured.batch_size,
             best.measured.device, arguments.bench.warm_up);
  fmt::print("threads  workers  images/s  (   min     max)  ms a step  data wait\n");
  for (const TrainSplit& split : splits) {
    const Spread images = spread(split.measured.rate);
    fmt::print("{:7}  {:7}  {:8.1f}  ({:6.1f}  {:6.1f})  {:9.2f}  {:7.1f} %{}\n", split.threads,
               split.workers, images.median, images.min, images.max,
               1e3 * spread(split.measured.step_s).median,
               100 * split.measured.wait_s / split.measured.wall_s(),
               &split == &best ? "  <- best" : "");
  }
  fmt::print("best: {}\n", overrides_of(best));
}

ExitCode print_overhead(const Arguments& arguments, const TrainOverhead& overhead) {
  const double outside_us = 1e6 * spread(overhead.trainer.outside_s).median;
  const bool missed = arguments.at_most > 0 && 100 * overhead.share() > arguments.at_most;
  if (arguments.json) {
    const nlohmann::json json = {{"name", "bench train --bare"},
                                 {"config", arguments.config},
                                 {"device", overhead.bare.device},
                                 {"batch_size", overhead.bare.batch_size},
                                 {"rounds", arguments.bench.rounds},
                                 {"trainer", steps_json(overhead.trainer)},
                                 {"bare", steps_json(overhead.bare)},
                                 {"overhead", overhead.share()},
                                 {"overhead_of_shortest", overhead.share_of_shortest()}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} rounds of {} steps on one batch of {} images that lies on {}\n",
               arguments.bench.rounds, arguments.bench.steps, overhead.bare.batch_size,
               overhead.bare.device);
    for (const auto& [name, steps] :
         {std::pair{"trainer", &overhead.trainer}, std::pair{"bare loop", &overhead.bare}}) {
      const Spread times = spread(steps->step_s);
      fmt::print("  {:<9}  {:10.3f} ms a step (median; min {:.3f}, max {:.3f})\n", name,
                 1e3 * times.median, 1e3 * times.min, 1e3 * times.max);
    }
    fmt::print("  the trainer's step is longer by {:.2f} % (medians), {:.2f} % (shortest steps)\n",
               100 * overhead.share(), 100 * overhead.share_of_shortest());
    fmt::print(
        "  it spends {:.1f} us a step outside the step's own work: {:.4f} % of a bare step\n",
        outside_us, 1e-4 * outside_us / spread(overhead.bare.step_s).median);
  }
  if (!missed) return ExitCode::ok;
  throw Error(ExitCode::threshold,
              fmt::format("bench train: the overhead of {:.2f} % is above the {} % allowed",
                          100 * overhead.share(), arguments.at_most));
}

// Powers of two up to what there is, and that.
std::vector<int64_t> up_to(int64_t cores) {
  std::vector<int64_t> result;
  for (int64_t n = 1; n < cores; n *= 2) result.push_back(n);
  result.push_back(cores);
  return result;
}

ExitCode run(Arguments arguments) {
  const StopSignal stop;
  arguments.bench.config = arguments.config;
  arguments.bench.overrides = arguments.overrides;
  if (!arguments.json) {
    arguments.bench.notify = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  }
  if (arguments.bare) return print_overhead(arguments, bench_train_overhead(arguments.bench, stop));
  const std::vector<int64_t> all = up_to(Workers{}.resolve());
  print_splits(arguments,
               bench_train(arguments.bench, arguments.threads.empty() ? all : arguments.threads,
                           arguments.workers.empty() ? all : arguments.workers, stop));
  return ExitCode::ok;
}

}  // namespace

void add_bench_train(CLI::App& bench, ExitCode& result) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand(
      "train",
      "Some steps of the configured training for each division of the cores between computing and "
      "loading; or the trainer beside a bare loop");
  add_config_arguments(*command, *arguments);
  command->add_option("--threads", arguments->threads, "values of training.threads; 1,2,4,..")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command->add_option("--workers", arguments->workers, "values of loader.workers; 1,2,4,..")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command->add_option("--steps", arguments->bench.steps, "measured steps of a round")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--warm-up", arguments->bench.warm_up, "steps before them")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_option("--rounds", arguments->bench.rounds, "interleaved rounds")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  CLI::Option* bare = command->add_flag(
      "--bare", arguments->bare,
      "the trainer beside the same steps without it, on one batch that lies on the device");
  command
      ->add_option("--at-most", arguments->at_most,
                   "percent of overhead (medians) above which the exit code is 7")
      ->check(CLI::PositiveNumber)
      ->needs(bare);
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &result] { result = run(*arguments); });
}

}  // namespace stoker
