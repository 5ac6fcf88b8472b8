#include "io/loader/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/core/error.h"
#include "io/core/random.h"

namespace stoker {

Sampler::Sampler(const LoaderOptions& options, Shard shard, int64_t samples, Split split,
                 uint64_t seed)
    : options_(options),
      shard_(shard),
      samples_(samples),
      train_(split == Split::train),
      seed_(seed),
      batches_(samples / options.batch_size) {
  const bool rest = samples % options.batch_size != 0;
  if (rest && !(train_ && options.drop_last)) ++batches_;
  if (train_ && batches_ == 0) {
    throw Error(ExitCode::config,
                fmt::format("loader: batch_size {} is larger than the {} training samples: use a "
                            "smaller batch_size, or drop_last: false",
                            options.batch_size, samples));
  }
  if (options.batch_size < shard.world) {
    throw Error(ExitCode::config,
                fmt::format("loader: batch_size {} is not one sample for each of {} ranks: it is "
                            "that of all ranks together",
                            options.batch_size, shard.world));
  }
}

BatchPart Sampler::part(int64_t batch) const {
  const auto [full_begin, full_end] = shard_.places(options_.batch_size);
  BatchPart part;
  part.begin = batch * (full_end - full_begin);
  part.whole = std::min(options_.batch_size, samples_ - batch * options_.batch_size);
  const auto [begin, end] = shard_.places(part.whole);
  part.filler = begin == end;
  part.size = part.filler ? 1 : end - begin;
  return part;
}

EpochOrder Sampler::order(int64_t epoch) const {
  std::vector<int64_t> all(static_cast<size_t>(samples_));
  std::iota(all.begin(), all.end(), 0);
  const bool shuffled = train_ && options_.shuffle;
  if (shuffled) {
    Random random(mix(seed_, static_cast<uint64_t>(epoch)));
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
  }
  EpochOrder order{epoch, shuffled, {}};
  for (int64_t batch = 0; batch < batches_; ++batch) {
    const BatchPart part = this->part(batch);
    // A filler has no place of its own: the first sample of its batch stands in.
    const int64_t place = part.filler ? 0 : shard_.places(part.whole).first;
    const auto first = all.begin() + batch * options_.batch_size + place;
    order.samples.insert(order.samples.end(), first, first + part.size);
  }
  return order;
}

}  // namespace stoker
