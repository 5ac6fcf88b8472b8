#include "app/commands/bench_loader.h"

#include <ctime>

#include "io/loader/failure_budget.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Epoch {
  double seconds = 0;
  double first_batch_s = 0;
  int64_t images = 0;
  LoadCost cost;
};

Epoch run_epoch(Loader& loader, int64_t epoch, FailureBudget& budget) {
  Epoch result;
  const TimePoint begin = Clock::now();
  loader.start(epoch, 0);
  while (const auto batch = loader.next()) {
    if (result.images == 0) result.first_batch_s = seconds(Clock::now() - begin);
    budget.account(*batch);
    result.images += batch->size;
    result.cost.read_ns += batch->cost.read_ns;
    result.cost.decode_ns += batch->cost.decode_ns;
    result.cost.bytes_read += batch->cost.bytes_read;
  }
  result.seconds = seconds(Clock::now() - begin);
  return result;
}

int64_t budget_of(const Dataset& dataset) {
  return dataset.on_error().budget.of(dataset.size(Split::train));
}

}  // namespace

double bench_first_epoch(Experiment& experiment, int64_t epoch) {
  FailureBudget budget(budget_of(experiment.dataset()));
  const auto loader = experiment.make_loader(Split::train);
  const Epoch measured = run_epoch(*loader, epoch, budget);
  return static_cast<double>(measured.images) / measured.seconds;
}

LoaderBenchmark bench_loader(Experiment& experiment, int64_t epochs) {
  FailureBudget budget(budget_of(experiment.dataset()));
  const auto loader = experiment.make_loader(Split::train);
  LoaderBenchmark result;
  result.first_batch_s = run_epoch(*loader, 0, budget).first_batch_s;
  LoadCost cost;
  double images = 0;
  const double cpu_before = cpu_seconds();
  for (int64_t i = 1; i <= epochs; ++i) {
    const Epoch epoch = run_epoch(*loader, i, budget);
    result.images = epoch.images;
    result.images_per_s.push_back(static_cast<double>(epoch.images) / epoch.seconds);
    images += static_cast<double>(epoch.images);
    cost.read_ns += epoch.cost.read_ns;
    cost.decode_ns += epoch.cost.decode_ns;
    cost.bytes_read += epoch.cost.bytes_read;
  }
  result.cpu_s_per_1000 = 1000 * (cpu_seconds() - cpu_before) / images;
  result.read_us = 1e-3 * static_cast<double>(cost.read_ns) / images;
  result.decode_us = 1e-3 * static_cast<double>(cost.decode_ns) / images;
  result.bytes_per_image = static_cast<double>(cost.bytes_read) / images;
  result.skipped = static_cast<int64_t>(budget.skipped().size());
  return result;
}

}  // namespace stoker
