#include "io/loader/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/core/error.h"
#include "io/core/random.h"

namespace stoker {

Sampler::Sampler(const LoaderOptions& options, int64_t samples, Split split, uint64_t seed)
    : options_(options), samples_(samples), train_(split == Split::train), seed_(seed) {
  const int64_t ranks = options.world_size;
  if (train_ && options.drop_last) {
    share_ = samples / ranks;
    batches_ = share_ / options.batch_size;
  } else {
    const bool padded = train_ || options.rank < samples % ranks;
    share_ = samples / ranks + (samples % ranks != 0 && padded ? 1 : 0);
    batches_ = (share_ + options.batch_size - 1) / options.batch_size;
  }
  if (train_ && batches_ == 0) {
    throw Error(ExitCode::config,
                fmt::format("loader: batch_size {} is larger than this rank's {} training samples: "
                            "use a smaller batch_size, or drop_last: false",
                            options.batch_size, share_));
  }
}

int64_t Sampler::batch_size(int64_t batch) const {
  return std::min(options_.batch_size, share_ - batch * options_.batch_size);
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
  order.samples.reserve(static_cast<size_t>(share_));
  for (int64_t i = 0; i < share_; ++i) {
    const int64_t position = i * options_.world_size + options_.rank;
    order.samples.push_back(all[static_cast<size_t>(position % samples_)]);
  }
  return order;
}

}  // namespace stoker
