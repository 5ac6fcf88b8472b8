#include "app/bench/train.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/utils.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "app/base/statistics.h"
#include "app/bench/rounds.h"
#include "app/train/step.h"
#include "app/train/trainer.h"

namespace stoker {
namespace {

// A loader that is watched: when its batches were asked for and came.
class WatchedLoader final : public Loader {
 public:
  struct Times {
    std::vector<TimePoint> asked;
    std::vector<TimePoint> given;
  };
  WatchedLoader(std::unique_ptr<Loader> inner, Times& times)
      : inner_(std::move(inner)), times_(times) {}

  int64_t batches() const override { return inner_->batches(); }
  void start(int64_t epoch, int64_t first_batch) override { inner_->start(epoch, first_batch); }
  std::optional<Batch> next() override {
    times_.asked.push_back(Clock::now());
    std::optional<Batch> batch = inner_->next();
    times_.given.push_back(Clock::now());
    return batch;
  }

 private:
  const std::unique_ptr<Loader> inner_;
  Times& times_;
};

// The same batch, which lies on the device already, again and again.
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

// Where the trainer leaves what every run leaves.
class ScratchRuns {
 public:
  ScratchRuns()
      : path_(std::filesystem::temp_directory_path() / fmt::format("stoker-bench-{}", getpid())) {}
  ~ScratchRuns() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchRuns(const ScratchRuns&) = delete;
  ScratchRuns& operator=(const ScratchRuns&) = delete;
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

class TrainingRuns {
 public:
  TrainingRuns(const TrainBench& bench, const StopSignal& stop) : bench_(bench), stop_(stop) {}

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

  // Fresh weights, and the steps of one round behind those of the rounds before. held: instead of
  // the experiment's loader.
  void train(const ExperimentOptions& options, const std::shared_ptr<DeviceBatch>& held,
             Experiment& experiment, TrainSteps& steps) {
    RunLog log(true);
    const RunDirectory directory(options, bench_.overrides);
    WatchedLoader::Times times;
    std::unique_ptr<Loader> loader;
    if (held) {
      loader = std::make_unique<OneBatchLoader>(held, bench_.warm_up + bench_.steps);
    } else {
      loader = experiment.make_loader(Split::train);
    }
    Trainer trainer(experiment, directory, log, stop_,
                    std::make_unique<WatchedLoader>(std::move(loader), times));
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
    torch::manual_seed(experiment.options().run.seed);
    at::set_num_threads(static_cast<int>(experiment.options().training.threads.resolve()));
    TrainStep step(experiment, bench_.warm_up + bench_.steps, bench_.warm_up + bench_.steps);
    std::vector<TimePoint> begun;
    for (int64_t i = 0; i < bench_.warm_up + bench_.steps; ++i) {
      begun.push_back(Clock::now());
      step.run(batch, i, [] {});
    }
    step.loss();  // on a GPU: waits for the steps
    begun.push_back(Clock::now());
    add(begun, experiment, steps);
  }

 private:
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

  const TrainBench& bench_;
  const StopSignal& stop_;
  const ScratchRuns scratch_;
};

void require_computing(Experiment& experiment) {
  if (!experiment.device().info().emulated) return;
  throw Error(ExitCode::config,
              "bench train: an emulated device computes nothing that could be measured: set "
              "device.type=cpu or cuda");
}

double shortest(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

}  // namespace

std::string TrainSplit::overrides() const {
  return fmt::format("training.threads={} loader.workers={}", threads, workers);
}

double TrainSteps::wall_s() const { return std::accumulate(step_s.begin(), step_s.end(), 0.0); }

double TrainOverhead::share() const {
  return spread(trainer.step_s).median / spread(bare.step_s).median - 1;
}

double TrainOverhead::share_of_shortest() const {
  return shortest(trainer.step_s) / shortest(bare.step_s) - 1;
}

std::vector<TrainSplit> measure_splits(const TrainBench& bench, const std::vector<int64_t>& threads,
                                       const std::vector<int64_t>& workers,
                                       const StopSignal& stop) {
  TrainingRuns runs(bench, stop);
  std::vector<TrainSplit> splits;
  for (const int64_t t : threads) {
    for (const int64_t w : workers) splits.push_back({t, w, {}});
  }
  interleave(splits, bench.rounds, 0, [&](TrainSplit& split, int64_t round) {
    if (bench.notify) {
      bench.notify(fmt::format("bench train: round {} of {}: {}", round + 1, bench.rounds,
                               split.overrides()));
    }
    const ExperimentOptions options =
        runs.options({fmt::format("training.threads={}", split.threads),
                      fmt::format("loader.workers={}", split.workers)});
    Experiment experiment(options, {});
    require_computing(experiment);
    split.measured.device = experiment.device().info().name;
    runs.train(options, nullptr, experiment, split.measured);
    return true;
  });
  return splits;
}

TrainOverhead measure_overhead(const TrainBench& bench, const StopSignal& stop) {
  TrainingRuns runs(bench, stop);
  const ExperimentOptions options = runs.options({});
  TrainOverhead result;
  for (int64_t round = 0; round < bench.rounds; ++round) {
    if (bench.notify) {
      bench.notify(fmt::format("bench train: round {} of {}", round + 1, bench.rounds));
    }
    Experiment experiment(options, {});
    require_computing(experiment);
    result.trainer.device = result.bare.device = experiment.device().info().name;
    const auto loader = experiment.make_loader(Split::train);
    loader->start(0, 0);
    const std::optional<Batch> batch = loader->next();
    if (!batch) throw Error(ExitCode::data, "bench train: the loader gives no batch to run on");
    std::shared_ptr<DeviceBatch> held = batch->on_device;
    if (!held) {
      held = std::make_shared<DeviceBatch>(
          experiment.device().copy(*batch, experiment.decoder().spec()));
    }
    const auto by_trainer = [&] { runs.train(options, held, experiment, result.trainer); };
    const auto by_hand = [&] { runs.bare(experiment, *held, result.bare); };
    // Who comes second finds the caches and the frequency that the first one leaves.
    if (round % 2 == 0) by_trainer();
    by_hand();
    if (round % 2 == 1) by_trainer();
  }
  return result;
}

}  // namespace stoker
