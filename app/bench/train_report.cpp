#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/bench/train.h"
#include "io/loader/loader.h"

namespace stoker {
namespace {

using Cell = ResultTable::Cell;

// What is known of steps; the columns before it say whose they are.
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
    wait_share = steps.wait_s / steps.wall_s();
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

void print_splits(const TrainBenchArguments& arguments, const std::vector<TrainSplit>& splits) {
  const auto rate = [](const TrainSplit& split) { return spread(split.measured.rate).median; };
  const TrainSplit& best = *std::ranges::max_element(splits, {}, rate);
  ResultTable table(steps_columns({{"threads", "threads"}, {"workers", "workers"}}));
  for (const TrainSplit& split : splits) {
    table.add(steps_row({split.threads, split.workers}, split.measured));
  }
  if (arguments.json) {
    nlohmann::json json = conditions_json("bench train", arguments, best.measured);
    json["best"] = best.overrides();
    json["splits"] = table.json();
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{} rounds of {} steps of {} images on {}, after {} steps; medians\n{}best: {}\n",
             arguments.rounds, arguments.steps, best.measured.batch_size, best.measured.device,
             arguments.warm_up, table.text(), best.overrides());
}

void print_overhead(const TrainBenchArguments& arguments, const TrainOverhead& overhead) {
  ResultTable table(steps_columns({{"", "loop"}}));
  table.add(steps_row({"trainer"}, overhead.trainer));
  table.add(steps_row({"bare"}, overhead.bare));
  if (arguments.json) {
    nlohmann::json json = conditions_json("bench train --bare", arguments, overhead.bare);
    const nlohmann::json rows = table.json();
    json["trainer"] = rows[0];
    json["bare"] = rows[1];
    json["overhead"] = overhead.share();
    json["overhead_of_shortest"] = overhead.share_of_shortest();
    fmt::print("{}\n", json.dump());
    return;
  }
  const double outside_us = 1e6 * spread(overhead.trainer.outside_s).median;
  fmt::print(
      "{} rounds of {} steps on one batch of {} images that lies on {}\n{}"
      "the trainer's step is longer by {:.2f} % (medians), {:.2f} % (shortest steps)\n"
      "it spends {:.1f} us a step outside the step's own work: {:.4f} % of a bare step\n",
      arguments.rounds, arguments.steps, overhead.bare.batch_size, overhead.bare.device,
      table.text(), 100 * overhead.share(), 100 * overhead.share_of_shortest(), outside_us,
      1e-4 * outside_us / spread(overhead.bare.step_s).median);
}

// Powers of two up to what there is, and that.
std::vector<int64_t> up_to(int64_t cores) {
  std::vector<int64_t> result;
  for (int64_t n = 1; n < cores; n *= 2) result.push_back(n);
  result.push_back(cores);
  return result;
}

}  // namespace

ExitCode bench_train(TrainBenchArguments arguments) {
  const StopSignal stop;
  if (!arguments.json) arguments.notify = print_remark;
  if (!arguments.bare) {
    const std::vector<int64_t> all = up_to(Workers{}.resolve());
    if (arguments.threads.empty()) arguments.threads = all;
    if (arguments.workers.empty()) arguments.workers = all;
    print_splits(arguments, measure_splits(arguments, arguments.threads, arguments.workers, stop));
    return ExitCode::ok;
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
