#include "app/tools/bench_train/train.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/stop_signal.h"
#include "app/tools/bench/benchmarks.h"
#include "app/train/step.h"
#include "app/train/trainer.h"
#include "io/core/system/file.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/text.h"
#include "io/loader/loader.h"

namespace stoker {
namespace {

double shortest(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

// Steps of all rounds. A step is the time from asking for one batch to asking for the next.
struct TrainSteps {
  int64_t batch_size = 0;
  std::string device;
  std::vector<double> step_s;
  double wait_s = 0;         // time in them that the trainer waited for data
  std::vector<double> rate;  // images/s of each round
  // For each round the trainer's time for a step outside of its `compute`.
  std::vector<double> outside_s;
};

// How the cores are divided between LibTorch's kernels and the loader's workers.
struct TrainSplit {
  int64_t threads = 0;  // training.threads
  int64_t workers = 0;  // loader.workers
  TrainSteps measured;

  // The options that give this division.
  std::string overrides() const {
    return fmt::format("training.threads={} loader.workers={}", threads, workers);
  }
};

// What the trainer adds to its steps, on one batch that lies on the device already.
struct TrainOverhead {
  TrainSteps trainer;
  TrainSteps bare;  // TrainStep::run and nothing else

  // The share by which a step of the trainer is longer: by the medians, and by the shortest steps,
  // which other work on the machine disturbs least.
  double share() const { return spread(trainer.step_s).median / spread(bare.step_s).median - 1; }
  double share_of_shortest() const { return shortest(trainer.step_s) / shortest(bare.step_s) - 1; }
};

// A loader that notes when its batches were asked for and when they came.
class WatchedLoader final : public Loader {
 public:
  struct Times {
    std::vector<TimePoint> asked;
    std::vector<TimePoint> given;
  };
  // step: called before each batch.
  WatchedLoader(std::unique_ptr<Loader> inner, Times& times, std::function<void()> step)
      : inner_(std::move(inner)), times_(times), step_(std::move(step)) {}

  int64_t batches() const override { return inner_->batches(); }
  void start(int64_t epoch, int64_t first_batch) override { inner_->start(epoch, first_batch); }
  std::optional<Batch> next() override {
    step_();
    times_.asked.push_back(Clock::now());
    std::optional<Batch> batch = inner_->next();
    times_.given.push_back(Clock::now());
    return batch;
  }

 private:
  const std::unique_ptr<Loader> inner_;
  Times& times_;
  const std::function<void()> step_;
};

// A loader that gives the same batch, which lies on the device already, again and again.
class OneBatchLoader final : public Loader {
 public:
  OneBatchLoader(std::shared_ptr<DeviceBatch> batch, int64_t batches)
      : batch_(std::move(batch)), batches_(batches) {}

  int64_t batches() const override { return batches_; }
  void start(int64_t epoch, int64_t first_batch) override {
    epoch_ = epoch;
    next_ = first_batch;
  }
  std::optional<Batch> next() override {
    if (next_ >= batches_) return std::nullopt;
    Batch batch;
    batch.epoch = epoch_;
    batch.index = next_++;
    batch.size = batch_->host.size;
    batch.on_device = batch_;
    return batch;
  }

 private:
  const std::shared_ptr<DeviceBatch> batch_;
  const int64_t batches_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;
};

class TrainingRuns {
 public:
  // runs: that will be made.
  TrainingRuns(const TrainBenchArguments& bench, StopSignal& stop, int64_t runs)
      : bench_(bench), stop_(stop), steps_(runs * (bench.warm_up + bench.steps)) {}

  ExperimentOptions options(const std::vector<std::string>& more) const {
    std::vector<std::string> overrides = bench_.overrides;
    overrides.insert(overrides.end(), more.begin(), more.end());
    const int64_t steps = bench_.warm_up + bench_.steps;
    for (const std::string& fixed :
         {std::string("checkpoint={type: none}"), std::string("evaluation={enabled: false}"),
          std::string("loader.digest=false"), std::string("run.page_cache=as_is"),
          std::string("run.drop_caches=false"), std::string("training.epochs=1000000"),
          fmt::format("training.max_steps={}", steps), "run.dir=" + scratch_.path()}) {
      overrides.push_back(fixed);
    }
    return read_experiment(bench_.config, overrides);
  }

  // Takes fresh weights, and adds the steps of one round to those of the rounds before. held: takes
  // the place of the experiment's loader.
  void train(const ExperimentOptions& options, const std::shared_ptr<DeviceBatch>& held,
             Experiment& experiment, TrainSteps& steps) {
    RunLog log(true);
    const std::unique_ptr<Peers> alone = no_peers();
    RunDirectory directory(options, bench_.overrides, *alone,
                           [&log](const std::string& text) { log.warn(text); });
    WatchedLoader::Times times;
    std::unique_ptr<Loader> loader;
    if (held) {
      loader = std::make_unique<OneBatchLoader>(held, bench_.warm_up + bench_.steps);
    } else {
      loader = experiment.make_loader(Split::train);
    }
    Trainer trainer(
        experiment, directory, log, stop_, *alone,
        std::make_unique<WatchedLoader>(std::move(loader), times, [&] { count_step(); }));
    const RunMeter::State run = trainer.run().run;
    const auto code = static_cast<ExitCode>(run.exit_code.value_or(0));
    if (!run.error.empty()) throw Error(code, run.error);
    if (run.phase != RunPhase::completed) throw Error(code, "stopped by a signal");
    times.asked.push_back(times.asked.front() +
                          std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(run.totals.wall_s)));
    double wait = 0;
    for (size_t i = static_cast<size_t>(bench_.warm_up); i < times.given.size(); ++i) {
      wait += seconds(times.given[i] - times.asked[i]);
    }
    steps.wait_s += wait;
    add(times.asked, experiment, steps);
    const double compute = run.totals.segments[static_cast<size_t>(Segment::compute)];
    steps.outside_s.push_back((run.totals.wall_s - compute) /
                              static_cast<double>(run.totals.steps));
  }

  void bare(Experiment& experiment, const DeviceBatch& batch, TrainSteps& steps) {
    at::manual_seed(experiment.options().run.seed);
    at::set_num_threads(static_cast<int>(thread_count(experiment.options().training.threads)));
    TrainStep step(experiment, bench_.warm_up + bench_.steps, bench_.warm_up + bench_.steps);
    std::vector<TimePoint> begun;
    for (int64_t i = 0; i < bench_.warm_up + bench_.steps; ++i) {
      count_step();
      begun.push_back(Clock::now());
      step.pass(batch, i);
      step.update(i, nullptr);
    }
    step.loss();  // on a GPU: waits for the steps
    begun.push_back(Clock::now());
    add(begun, experiment, steps);
  }

 private:
  void count_step() { progress_(std::min(++done_, steps_), steps_); }
  // times: when each step began, and when the last one ended.
  void add(const std::vector<TimePoint>& times, const Experiment& experiment,
           TrainSteps& steps) const {
    const auto first = static_cast<size_t>(bench_.warm_up);
    for (size_t i = first; i + 1 < times.size(); ++i) {
      steps.step_s.push_back(seconds(times[i + 1] - times[i]));
    }
    const int64_t batch_size = experiment.options().loader.info().batch_size;
    steps.batch_size = batch_size;
    steps.rate.push_back(static_cast<double>(bench_.steps * batch_size) /
                         seconds(times.back() - times[first]));
  }

  const TrainBenchArguments& bench_;
  StopSignal& stop_;
  const TemporaryFolder scratch_{"bench"};  // where the trainer leaves what every run leaves
  const int64_t steps_;                     // of all runs
  int64_t done_ = 0;
  const std::function<void(int64_t, int64_t)> progress_ = progress_of("steps");
};

// Before anything is opened.
void require_computing(const ExperimentOptions& options) {
  if (!options.training.compute) {
    throw Error(ExitCode::config, "bench train: training.compute is false: leave it out");
  }
  if (!options.device.info().emulated) return;
  throw Error(ExitCode::config,
              "bench train: an emulated device computes nothing that could be measured: set "
              "device.type=cpu or cuda");
}

using Cell = ResultTable::Cell;

// Adds what is known about steps; the columns before it say whose they are.
std::vector<ResultTable::Column> steps_columns(std::vector<ResultTable::Column> first) {
  first.insert(first.end(), {{"images_per_s", "images/s (min max)", 1},
                             {"step_s", "ms a step (min max)", 3, 1e3},
                             {"data_wait_share", "data wait %", 1, 100},
                             {"outside_compute_us", "us outside compute", 1},
                             {"steps", ""}});
  return first;
}

std::vector<Cell> steps_row(std::vector<Cell> first, const TrainSteps& steps) {
  std::optional<double> wait_share, outside_us;
  if (!steps.outside_s.empty()) {  // else not measured by the trainer
    wait_share = steps.wait_s / std::accumulate(steps.step_s.begin(), steps.step_s.end(), 0.0);
    outside_us = 1e6 * spread(steps.outside_s).median;
  }
  first.insert(first.end(), {spread(steps.rate), spread(steps.step_s), wait_share, outside_us,
                             static_cast<int64_t>(steps.step_s.size())});
  return first;
}

nlohmann::json conditions_json(const char* name, const TrainBenchArguments& arguments,
                               const TrainSteps& steps) {
  return {{"name", name},
          {"config", arguments.config},
          {"device", steps.device},
          {"batch_size", steps.batch_size},
          {"rounds", arguments.rounds}};
}

ExitCode print_splits(const TrainBenchArguments& arguments, const std::vector<TrainSplit>& splits) {
  const auto rate = [](const TrainSplit& split) { return spread(split.measured.rate).median; };
  const TrainSplit& best = *std::ranges::max_element(splits, {}, rate);
  ResultTable table(steps_columns({{"threads", "threads"}, {"workers", "workers"}}));
  for (const TrainSplit& split : splits) {
    table.add(steps_row({split.threads, split.workers}, split.measured));
  }
  nlohmann::json json = conditions_json("bench train", arguments, best.measured);
  json["best"] = best.overrides();
  json["splits"] = table.json();
  return print_result(
      arguments.json, json,
      fmt::format("{} of {} of {} on {}, after {}; medians\n{}best: {}\n",
                  plural(arguments.rounds, "round"), plural(arguments.steps, "step"),
                  plural(best.measured.batch_size, "image"), best.measured.device,
                  plural(arguments.warm_up, "step"), table.text(), best.overrides()));
}

void print_overhead(const TrainBenchArguments& arguments, const TrainOverhead& overhead) {
  ResultTable table(steps_columns({{"", "loop"}}));
  table.add(steps_row({"trainer"}, overhead.trainer));
  table.add(steps_row({"bare"}, overhead.bare));
  nlohmann::json json = conditions_json("bench train --bare", arguments, overhead.bare);
  json["trainer"] = table.json().front();
  json["bare"] = table.json().back();
  json["overhead"] = overhead.share();
  json["overhead_of_shortest"] = overhead.share_of_shortest();
  const double outside_us = 1e6 * spread(overhead.trainer.outside_s).median;
  const std::string text = fmt::format(
      "{} of {} on one batch of {} that lies on {}\n{}"
      "the trainer's step is longer by {:.2f} % (medians), {:.2f} % (shortest steps)\n"
      "it spends {:.1f} us a step outside the step's own work: {:.4f} % of a bare step\n",
      plural(arguments.rounds, "round"), plural(arguments.steps, "step"),
      plural(overhead.bare.batch_size, "image"), overhead.bare.device, table.text(),
      100 * overhead.share(), 100 * overhead.share_of_shortest(), outside_us,
      1e-4 * outside_us / spread(overhead.bare.step_s).median);
  print_result(arguments.json, json, text);
}

// The powers of two up to the number of cores, and that number.
std::vector<int64_t> up_to(int64_t cores) {
  std::vector<int64_t> result;
  for (int64_t n = 1; n < cores; n *= 2) result.push_back(n);
  result.push_back(cores);
  return result;
}

// Every combination of the two lists, interleaved.
std::vector<TrainSplit> measure_splits(const TrainBenchArguments& bench, StopSignal& stop) {
  std::vector<TrainSplit> splits;
  for (const int64_t t : bench.threads) {
    for (const int64_t w : bench.workers) splits.push_back({t, w, {}});
  }
  TrainingRuns runs(bench, stop, bench.rounds * std::ssize(splits));
  require_computing(runs.options({}));
  interleave(splits, bench.rounds, 0, [&](TrainSplit& split, int64_t round) {
    if (!bench.json) {
      print_note(fmt::format("bench train: round {} of {}: {}", round + 1, bench.rounds,
                             split.overrides()));
    }
    const ExperimentOptions options =
        runs.options({fmt::format("training.threads={}", split.threads),
                      fmt::format("loader.workers={}", split.workers)});
    Experiment experiment(options, print_note);
    split.measured.device = experiment.device().info().name;
    runs.train(options, nullptr, experiment, split.measured);
    return true;
  });
  return splits;
}

TrainOverhead measure_overhead(const TrainBenchArguments& bench, StopSignal& stop) {
  TrainingRuns runs(bench, stop, 2 * bench.rounds);
  const ExperimentOptions options = runs.options({});
  require_computing(options);
  TrainOverhead result;
  for (int64_t round = 0; round < bench.rounds; ++round) {
    if (!bench.json) {
      print_note(fmt::format("bench train: round {} of {}", round + 1, bench.rounds));
    }
    Experiment experiment(options, print_note);
    result.trainer.device = result.bare.device = experiment.device().info().name;
    const std::shared_ptr<DeviceBatch> held = experiment.first_batch();
    const auto by_trainer = [&] { runs.train(options, held, experiment, result.trainer); };
    const auto by_hand = [&] { runs.bare(experiment, *held, result.bare); };
    // Who comes second finds the caches and the frequency that the first one leaves.
    if (round % 2 == 0) by_trainer();
    by_hand();
    if (round % 2 == 1) by_trainer();
  }
  return result;
}

}  // namespace

ExitCode bench_train(TrainBenchArguments arguments) {
  StopSignal stop;
  if (!arguments.bare) {
    const std::vector<int64_t> all = up_to(usable_cores());
    if (arguments.threads.empty()) arguments.threads = all;
    if (arguments.workers.empty()) arguments.workers = all;
    return print_splits(arguments, measure_splits(arguments, stop));
  }
  const TrainOverhead overhead = measure_overhead(arguments, stop);
  print_overhead(arguments, overhead);
  const double percent = 100 * overhead.share();
  if (!arguments.at_most || percent <= *arguments.at_most) return ExitCode::ok;
  throw Error(ExitCode::threshold,
              fmt::format("bench train: the overhead of {:.2f} % is above the {} % allowed",
                          percent, *arguments.at_most));
}

}  // namespace stoker
