#include "app/tools/bench/epoch.h"

#include "io/metrics/clock.h"

namespace stoker {

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

}  // namespace stoker
