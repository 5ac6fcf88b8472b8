#include "app/tools/simulate/samples.h"

#include <algorithm>
#include <utility>

#include "io/core/error.h"

namespace stoker {

SizesOnly::SizesOnly(const SimulatedData& data, std::vector<uint64_t> sizes)
    : Dataset(OnError{}), data_(data), sizes_(std::move(sizes)) {}

SampleInfo SizesOnly::info(Split, int64_t index) const {
  return {"", 0, bytes(index), data_.samples_per_file > 1 ? file(index) : -1};
}

EncodedSample SizesOnly::read(Split, int64_t, Buffer&) const {
  throw Error(ExitCode::bug, "a simulation reads nothing");
}

uint64_t SizesOnly::file_bytes(int64_t file) const {
  const int64_t first = file * data_.samples_per_file;
  const int64_t last = std::min(first + data_.samples_per_file, data_.samples);
  if (equal()) return data_.sample_bytes.bytes * static_cast<uint64_t>(last - first);
  uint64_t sum = 0;
  for (int64_t sample = first; sample < last; ++sample) sum += bytes(sample);
  return sum;
}

SampleOrders::SampleOrders(const LoaderOptions& options, int64_t ranks, const Dataset& dataset,
                           uint64_t seed)
    : options_(options),
      dealt_(options.shuffle && deals_files(options.order)),
      whole_(options, Shard{}, dataset, Split::train, seed),
      batches_(whole_.batches()) {
  samplers_.reserve(static_cast<size_t>(ranks));
  for (int64_t rank = 0; rank < ranks; ++rank) {
    samplers_.emplace_back(whole_, Shard{rank, ranks});
    full_.push_back(samplers_.back().part(0).size);
  }
}

SampleOrders::Epoch& SampleOrders::of(int64_t epoch) {
  Epoch& kept = epochs_[static_cast<size_t>(epoch % 2)];
  if (kept.epoch == epoch) return kept;
  kept.epoch = epoch;
  if (!dealt_) {
    EpochOrder order = whole_.order(epoch);
    kept.scattered = order.scattered;
    kept.all = std::move(order.samples);
    return kept;
  }
  kept.own.resize(samplers_.size());
  for (size_t rank = 0; rank < samplers_.size(); ++rank) {
    EpochOrder order = samplers_[rank].order(epoch);
    kept.scattered = order.scattered;
    kept.own[rank] = std::move(order.samples);
  }
  return kept;
}

std::span<const int64_t> SampleOrders::samples(int64_t rank, int64_t batch) {
  const BatchPart part = this->part(rank, batch);
  const Epoch& epoch = of(batch / batches_);
  const auto size = static_cast<size_t>(part.size);
  if (dealt_) {
    return std::span(epoch.own[static_cast<size_t>(rank)])
        .subspan(static_cast<size_t>(part.begin), size);
  }
  const int64_t ranks = std::ssize(samplers_);
  const int64_t place = part.filler ? 0 : Shard{rank, ranks}.places(part.whole).first;
  const int64_t first = batch % batches_ * options_.batch_size + place;
  return std::span(epoch.all).subspan(static_cast<size_t>(first), size);
}

}  // namespace stoker
