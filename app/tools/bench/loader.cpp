#include "app/tools/bench/loader.h"

#include "io/metrics/clock.h"

namespace stoker {
namespace {

// What the process used for each image, between two looks at it.
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

double measure_first_epoch(ExperimentData& data, const LoaderUse& use, int64_t epoch) {
  FailureBudget budget = training_budget(data.dataset());
  const auto loader = data.make_loader(use);
  const LoadedEpoch measured =
      load_epoch(*loader, epoch, [&](const Batch& batch) { budget.account(batch); });
  return static_cast<double>(measured.images) / measured.seconds;
}

LoaderBenchmark measure_loader(ExperimentData& data, const LoaderInfo& info, const LoaderUse& use,
                               int64_t epochs, const BatchObserver& observe,
                               const std::function<void(int64_t, int64_t)>& progress) {
  FailureBudget budget = training_budget(data.dataset());
  const auto loader = data.make_loader(use);
  int64_t taken = 0;
  const auto account = [&](const Batch& batch) {
    budget.account(batch);
    if (progress) progress(++taken, (epochs + 1) * loader->batches());
  };
  LoaderBenchmark result;
  result.first_batch_s = load_epoch(*loader, 0, account).first_batch_s;
  LoadCost cost;
  double images = 0;
  bool on_host = true;
  const ProcessUse before = process_use();
  for (int64_t i = 1; i <= epochs; ++i) {
    const LoadedEpoch epoch = load_epoch(*loader, i, account);
    result.images = epoch.images;
    result.images_per_s.push_back(static_cast<double>(epoch.images) / epoch.seconds);
    images += static_cast<double>(epoch.images);
    cost.read_ns += epoch.cost.read_ns;
    cost.decode_ns += epoch.cost.decode_ns;
    cost.bytes_read += epoch.cost.bytes_read;
    on_host = epoch.on_host;
  }
  add_use(before, process_use(), images, result);
  result.memory = process_memory();
  result.sample_bytes = data.decoder().spec().bytes();
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
  result.tolerated = budget.counts().tolerated;
  loader->start(0, 0);
  for (bool more = static_cast<bool>(observe); more;) {
    const auto batch = loader->next();
    more = batch && observe(*batch);
  }
  return result;
}

LoadedEpoch load_epoch(Loader& loader, int64_t epoch, const std::function<void(const Batch&)>& see,
                       int64_t images) {
  LoadedEpoch result;
  const TimePoint begin = Clock::now();
  loader.start(epoch, 0);
  while (result.images < images) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) break;
    if (result.images == 0) result.first_batch_s = seconds(Clock::now() - begin);
    if (see) see(*batch);
    result.on_host = batch->pixels != nullptr;
    result.images += batch->size;
    result.bad += std::ssize(batch->skipped);
    result.cost.read_ns += batch->cost.read_ns;
    result.cost.decode_ns += batch->cost.decode_ns;
    result.cost.bytes_read += batch->cost.bytes_read;
  }
  result.seconds = seconds(Clock::now() - begin);
  return result;
}

FailureBudget training_budget(const Dataset& dataset) {
  return FailureBudget(dataset.on_error().budget.of(dataset.size(Split::train)));
}

std::unique_ptr<Loader> quiet_loader(const Component<Loader>& loader, const Dataset& dataset,
                                     const Decoder& decoder, const LoaderUse& use,
                                     LoaderMeter& meter, uint64_t seed) {
  return loader.create({dataset, decoder, use.allocate, use.split, seed, [](const std::string&) {},
                        meter, use.shard, use.device});
}

template <>
Registry<BenchDevice>& Registry<BenchDevice>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<BenchDevice> bench_device(const LoaderInfo& loader,
                                          const BenchDevice::Inputs& experiment) {
  if (loader.device_batches_ahead == 0 && !loader.resident) return nullptr;
  return default_component<BenchDevice>("configured").create(experiment);
}

LoaderUse loader_use(const std::unique_ptr<BenchDevice>& device) {
  return device ? device->use() : LoaderUse{};
}

}  // namespace stoker
