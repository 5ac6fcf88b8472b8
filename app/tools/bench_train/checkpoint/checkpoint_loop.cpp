#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/base/result_table.h"
#include "app/tools/bench_train/checkpoint/checkpoint.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

// Takes batches of the experiment's loader, as fast as they come.
class LoaderBeside {
 public:
  explicit LoaderBeside(Experiment& experiment)
      : loader_(experiment.make_loader(Split::train)), thread_([this] { run(); }) {}
  ~LoaderBeside() { stop_ = true; }
  LoaderBeside(const LoaderBeside&) = delete;
  LoaderBeside& operator=(const LoaderBeside&) = delete;
  int64_t batches() const { return batches_; }

 private:
  void run() {
    for (int64_t epoch = 0; !stop_; ++epoch) {
      loader_->start(epoch, 0);
      while (!stop_ && loader_->next()) ++batches_;
    }
  }
  std::unique_ptr<Loader> loader_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> batches_{0};
  std::jthread thread_;
};

// All in seconds, with a value for each round, and for each update of the optimizer.
struct LoopTimes {
  std::vector<double> stall, memcpy, update, update_after, lost;
};

class CheckpointLoop {
 public:
  CheckpointLoop(SavedModel& model, const CheckpointBenchArguments& arguments)
      : model_(model), arguments_(arguments) {}

  // Returns what the group took beside its sleep.
  double group(std::optional<int64_t> saves) {
    double busy = 0;
    for (int64_t i = 0; i < arguments_.every; ++i) {
      sleep_interruptibly(Clock::now() + from_seconds(1e-3 * arguments_.step_ms));
      std::unique_ptr<BackBuffer> back;
      const bool save = saves && i == 0;
      const TimePoint begin = Clock::now();
      if (save) {
        back = model_.save(*saves);
        times_.stall.push_back(seconds(Clock::now() - begin));
      }
      const double update = timed([&] { model_.update(back.get()); });
      (save ? times_.update_after : times_.update).push_back(update);
      busy += seconds(Clock::now() - begin);
    }
    return busy;
  }
  void run(const MemcpyBaseline& memcpy) {
    for (int64_t round = 1; round <= arguments_.rounds; ++round) {
      double with = 0, without = 0;
      for (const bool save : {round % 2 == 0, round % 2 != 0}) {
        (save ? with : without) = group(save ? std::optional(round) : std::nullopt);
        model_.flush();
        if (!save) times_.memcpy.push_back(memcpy.seconds());
      }
      times_.lost.push_back(with - without);
    }
  }
  const LoopTimes& times() const { return times_; }

 private:
  SavedModel& model_;
  const CheckpointBenchArguments& arguments_;
  LoopTimes times_;
};

ResultTable table_of(const LoopTimes& times) {
  ResultTable table({{"what", "ms"},
                     {"min_s", "min", 1, 1e3},
                     {"median_s", "median", 1, 1e3},
                     {"p90_s", "p90", 1, 1e3},
                     {"p99_s", "p99", 1, 1e3},
                     {"max_s", "max", 1, 1e3}});
  const auto add = [&](const char* what, std::vector<double> seconds) {
    std::ranges::sort(seconds);
    // The smallest value that at least this share of the values does not exceed.
    const auto at = [&](double share) {
      const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(seconds.size())));
      return seconds[std::max<size_t>(rank, 1) - 1];
    };
    table.add({what, at(0), at(0.5), at(0.9), at(0.99), at(1)});
  };
  add("stall of a save", times.stall);
  add("memcpy of as much", times.memcpy);
  add("update in place", times.update);
  add("update after a save", times.update_after);
  add("lost per save", times.lost);
  return table;
}

}  // namespace

ExitCode bench_checkpoint_loop(const CheckpointBenchArguments& arguments) {
  const ExperimentOptions options = SavedModel::options(arguments);
  const CheckpointerInfo info = options.checkpoint.info();
  at::set_num_threads(static_cast<int>(thread_count(options.training.threads)));
  SavedModel model(options);
  const uint64_t bytes = model.checkpointer().status().set_bytes;
  const MemcpyBaseline memcpy(model.device(), bytes, info.threads);
  const auto beside =
      arguments.loader ? std::make_unique<LoaderBeside>(model.experiment()) : nullptr;
  CheckpointLoop loop(model, arguments);
  model.update(nullptr);
  loop.run(memcpy);
  const ResultTable table = table_of(loop.times());
  nlohmann::json json = {{"type", options.checkpoint.type()},
                         {"snapshot", info.snapshot},
                         {"set_bytes", bytes},
                         {"threads", info.threads},
                         {"saves", arguments.rounds},
                         {"every", arguments.every},
                         {"step_ms", arguments.step_ms},
                         {"distributions", table.json()},
                         {"times",
                          {{"stall_s", loop.times().stall},
                           {"memcpy_s", loop.times().memcpy},
                           {"update_s", loop.times().update},
                           {"update_after_s", loop.times().update_after},
                           {"lost_s", loop.times().lost}}}};
  if (beside) json["loader_batches"] = beside->batches();
  return print_result(
      arguments.json, json,
      fmt::format("{} of {:.1f} MB, checkpoint {} ({}), {}; steps of {} ms, every {}. "
                  "with a save, {}\n{}",
                  plural(arguments.rounds, "save"), 1e-6 * static_cast<double>(bytes),
                  options.checkpoint.type(), info.snapshot, plural(info.threads, "thread"),
                  arguments.step_ms, arguments.every,
                  beside ? fmt::format("beside the loader {} (at {} batches)",
                                       options.loader.type(), beside->batches())
                         : "nothing beside it",
                  table.text(2)));
}

}  // namespace stoker
