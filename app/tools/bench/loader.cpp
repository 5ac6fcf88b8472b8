#include "app/tools/bench/loader.h"

#include "io/loader/failure_budget.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

struct LoadedEpoch {
  double seconds = 0;
  double first_batch_s = 0;
  int64_t images = 0;
  bool on_host = true;  // pixels of the last batch
};

// Adds what it cost to `cost`.
LoadedEpoch load_epoch(Loader& loader, int64_t epoch, FailureBudget& budget, LoadCost& cost) {
  LoadedEpoch result;
  const TimePoint begin = Clock::now();
  loader.start(epoch, 0);
  while (const auto batch = loader.next()) {
    if (result.images == 0) result.first_batch_s = seconds(Clock::now() - begin);
    budget.account(*batch);
    result.on_host = batch->pixels != nullptr;
    result.images += batch->size;
    cost.read_ns += batch->cost.read_ns;
    cost.decode_ns += batch->cost.decode_ns;
    cost.bytes_read += batch->cost.bytes_read;
  }
  result.seconds = seconds(Clock::now() - begin);
  return result;
}

int64_t budget_of(const Dataset& dataset) {
  return dataset.on_error().budget.of(dataset.size(Split::train));
}

// Per image, between two looks at the process.
void add_use(const ProcessUse& before, const ProcessUse& after, double images,
             LoaderBenchmark& result) {
  const auto switches = [&](int64_t count) { return 1000 * static_cast<double>(count) / images; };
  const auto each = [&](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) / images;
  };
  result.cpu_s_per_1000 = 1000 * (after.cpu_s - before.cpu_s) / images;
  result.voluntary_switches = switches(after.voluntary_switches - before.voluntary_switches);
  result.involuntary_switches = switches(after.involuntary_switches - before.involuntary_switches);
  if (before.read_bytes && after.read_bytes) {
    result.bytes_by_read_calls = each(*before.read_bytes, *after.read_bytes);
  }
  if (!before.calls || !after.calls) return;
  result.allocations = each(before.calls->allocations, after.calls->allocations);
  result.libjpeg_allocations =
      each(before.calls->libjpeg_allocations, after.calls->libjpeg_allocations);
  result.bytes_moved = each(before.calls->bytes_moved, after.calls->bytes_moved);
}

}  // namespace

double measure_first_epoch(Experiment& experiment, int64_t epoch) {
  FailureBudget budget(budget_of(experiment.dataset()));
  const auto loader = experiment.make_loader(Split::train);
  LoadCost cost;
  const LoadedEpoch measured = load_epoch(*loader, epoch, budget, cost);
  return static_cast<double>(measured.images) / measured.seconds;
}

LoaderBenchmark measure_loader(Experiment& experiment, int64_t epochs,
                               const BatchObserver& observe) {
  FailureBudget budget(budget_of(experiment.dataset()));
  const auto loader = experiment.make_loader(Split::train);
  LoaderBenchmark result;
  LoadCost cost;
  result.first_batch_s = load_epoch(*loader, 0, budget, cost).first_batch_s;
  cost = {};
  double images = 0;
  bool on_host = true;
  const ProcessUse before = process_use();
  for (int64_t i = 1; i <= epochs; ++i) {
    const LoadedEpoch epoch = load_epoch(*loader, i, budget, cost);
    result.images = epoch.images;
    result.images_per_s.push_back(static_cast<double>(epoch.images) / epoch.seconds);
    images += static_cast<double>(epoch.images);
    on_host = epoch.on_host;
  }
  add_use(before, process_use(), images, result);
  result.memory = process_memory();
  result.sample_bytes = experiment.decoder().spec().bytes();
  const LoaderInfo info = experiment.options().loader.info();
  result.batches = loader->batches();
  result.batches_ahead = info.host_batches_ahead + info.device_batches_ahead;
  result.resident = info.resident;
  result.queue_bytes = on_host ? (result.batches_ahead + 1) * info.batch_size *
                                     static_cast<int64_t>(result.sample_bytes)
                               : 0;
  result.read_us = 1e-3 * static_cast<double>(cost.read_ns) / images;
  result.decode_us = 1e-3 * static_cast<double>(cost.decode_ns) / images;
  result.bytes_per_image = static_cast<double>(cost.bytes_read) / images;
  result.skipped = static_cast<int64_t>(budget.skipped().size());
  result.tolerated = budget.times_tolerated();
  loader->start(0, 0);
  for (bool more = static_cast<bool>(observe); more;) {
    const auto batch = loader->next();
    more = batch && observe(*batch);
  }
  return result;
}

}  // namespace stoker
