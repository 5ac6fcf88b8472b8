#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/process_use.h"
#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/bench/benchmarks.h"
#include "app/tools/bench/loader.h"
#include "io/core/digest.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/hub.h"

namespace stoker {
namespace {

constexpr const char* kBeyond = "more workers than cores";

// A loader with one number of workers.
struct ScalingRow {
  int64_t workers = 0;
  std::vector<double> images_per_s;  // one per round
  double cpu_us = 0;                 // the process's time per image, over all rounds
  std::vector<std::string> order;    // for each epoch a digest of what was handed out, in its order
};

// What was measured, by number of workers.
struct ScalingBenchmark {
  int64_t cores = 0;   // that this process may use
  int64_t images = 0;  // per epoch
  std::vector<ScalingRow> rows;
};

// An epoch, what it took of the processors, and a digest of what was handed out.
struct ScaledEpoch : LoadedEpoch {
  double cpu_s = 0;
  std::string order;
};

// An experiment whose loader is measured.
struct ScaledExperiment {
  const DataOptions options;
  const std::unique_ptr<BenchDevice> device;
  ExperimentData data;
};

// Loads an epoch with a new loader of this number of workers.
ScaledEpoch run_epoch(ScaledExperiment& experiment, int64_t workers, int64_t epoch, bool digest) {
  const DataOptions& options = experiment.options;
  ExperimentData& data = experiment.data;
  FailureBudget budget = training_budget(data.dataset());
  const auto loader = quiet_loader(changed(options.loader, {fmt::format("workers={}", workers),
                                                            fmt::format("digest={}", digest)}),
                                   data.dataset(), data.decoder(), loader_use(experiment.device),
                                   data.hub().train_loader(), options.run.seed);
  std::string order;
  const double cpu_before = process_use().cpu_s;
  ScaledEpoch result{load_epoch(*loader, epoch,
                                [&](const Batch& batch) {
                                  budget.account(batch);
                                  order += fmt::format("{} {} {}", batch.epoch, batch.index,
                                                       batch.digests);
                                  order.append(reinterpret_cast<const char*>(batch.labels->data()),
                                               batch.labels->size() * sizeof(int64_t));
                                }),
                     0,
                     {}};
  result.cpu_s = process_use().cpu_s - cpu_before;
  result.order = xxh3_128(order);
  return result;
}

// Every row handed out the same batches in the same order.
bool exact_order(const ScalingBenchmark& result) {
  const auto same = [&](const ScalingRow& row) { return row.order == result.rows.front().order; };
  return std::ranges::all_of(result.rows, same);
}

// The median rate of a row over the rate of as many workers if each did what one of the first row
// does. It means nothing where a row has more workers than there are cores.
double efficiency(const ScalingBenchmark& result, const ScalingRow& row) {
  const auto per_worker = [](const ScalingRow& one) {
    return spread(one.images_per_s).median / static_cast<double>(one.workers);
  };
  return per_worker(row) / per_worker(result.rows.front());
}

ResultTable table_of(const ScalingBenchmark& result) {
  ResultTable table({{"workers", "workers"},
                     {"images_per_s", "images/s (min max)"},
                     {"efficiency", "of linear %", 1, 100},
                     {"cpu_us", "CPU us/image", 1},
                     {"note", ""}});
  for (const ScalingRow& row : result.rows) {
    const bool beyond = row.workers > result.cores;
    using Cell = ResultTable::Cell;
    table.add({row.workers, spread(row.images_per_s),
               beyond ? Cell() : Cell(efficiency(result, row)), row.cpu_us,
               beyond ? Cell(kBeyond) : Cell()});
    if (beyond) table.note(kBeyond);
  }
  return table;
}

ScalingBenchmark measure_scaling(ScaledExperiment& experiment, std::vector<int64_t> workers,
                                 int64_t rounds) {
  std::ranges::sort(workers);
  if (experiment.options.loader.info().workers == 0) {
    throw Error(ExitCode::config, "bench loader: --scaling needs a loader with workers, and " +
                                      experiment.options.loader.type() +
                                      " has none: use loader.type=threaded or prefetched");
  }
  ScalingBenchmark result;
  result.cores = usable_cores();
  for (const int64_t count : workers) {
    const ScaledEpoch epoch = run_epoch(experiment, count, 0, true);
    result.images = epoch.images;
    result.rows.push_back({count, {}, 0, {epoch.order}});
  }
  interleave(result.rows, rounds, 0, [&](ScalingRow& row, int64_t round) {
    const ScaledEpoch epoch = run_epoch(experiment, row.workers, round + 1, false);
    const auto images = static_cast<double>(epoch.images);
    row.images_per_s.push_back(images / epoch.seconds);
    row.cpu_us += 1e6 * epoch.cpu_s / images / static_cast<double>(rounds);
    row.order.push_back(epoch.order);
    return true;
  });
  return result;
}

std::string scaling_text(const ScalingBenchmark& result, ScaledExperiment& experiment) {
  return fmt::format(
      "{}: medians of {} in turn of {} each, {}\n{}"
      "order: {} (pixels and labels of one epoch, labels of the measured ones)\n"
      "page cache as it was, after one epoch of each row; no model, batches dropped at once\n",
      experiment.options.loader.type(), plural(result.rows.front().images_per_s.size(), "round"),
      plural(result.images, "image"), plural(result.cores, "core"), table_of(result).text(),
      exact_order(result) ? "exact" : "NOT THE SAME in all rows");
}

nlohmann::json scaling_json(const ScalingBenchmark& result, ScaledExperiment& experiment) {
  nlohmann::json rows = table_of(result).json();
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i]["rates"] = result.rows[i].images_per_s;
    rows[i]["order"] = result.rows[i].order;
  }
  nlohmann::json json = {{"name", "stoker-" + experiment.options.loader.type() + "-scaling"},
                         {"loader", to_json(experiment.options.loader.dump())},
                         {"decoder", to_json(experiment.options.decoder.dump())},
                         {"cores", result.cores},
                         {"images", result.images},
                         {"order", exact_order(result) ? "exact" : "different"},
                         {"page_cache", "as it was; one epoch of each row before"},
                         {"rows", rows}};
  if (experiment.device) json["device"] = experiment.device->name();
  return json;
}

}  // namespace

ExitCode bench_scaling(const LoaderBenchArguments& arguments) {
  const DataOptions options = read_data_options(arguments.config, arguments.overrides, print_note);
  ScaledExperiment experiment{
      options, bench_device(options.loader.info(), {arguments.config, arguments.overrides}),
      ExperimentData(options, print_note)};
  const ScalingBenchmark result = measure_scaling(experiment, arguments.scaling, arguments.epochs);
  print_result(arguments.json, scaling_json(result, experiment), scaling_text(result, experiment));
  if (exact_order(result)) return ExitCode::ok;
  throw Error(ExitCode::bug, "bench loader: the batches depend on the number of workers");
}

}  // namespace stoker
