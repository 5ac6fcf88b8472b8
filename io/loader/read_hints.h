#pragma once

#include <cstdint>
#include <optional>

#include "io/dataset/dataset.h"
#include "io/loader/sampler.h"

namespace stoker {

// Tells a data set what workers are about to read (Dataset::expect): for orders that go through
// files in stretches, whole stretches at a time, and one more than is asked for if the loader works
// ahead; for any other order, just what is asked for. One thread at a time.
class ReadHints {
 public:
  // Both must outlive it.
  ReadHints(const Sampler& sampler, const Dataset& dataset, Split split, bool ahead)
      : sampler_(sampler), dataset_(dataset), split_(split), ahead_(ahead) {}

  // The samples of this rank at the places [begin, end) of the epoch are handed to workers now.
  void about_to_read(const EpochOrder& order, int64_t begin, int64_t end);
  // What was said is not read any more.
  void forget();
  // The next epoch's order, where it had to be looked up ahead. Once.
  EpochOrder take_next();

 private:
  // Says what is in stretches that begin before `end`, from the place `from` on.
  void say(const EpochOrder& order, int64_t from, int64_t end);

  const Sampler& sampler_;
  const Dataset& dataset_;
  const Split split_;
  const bool ahead_;
  bool any_ = false;              // was anything said?
  std::optional<int64_t> epoch_;  // of the order that was announced last
  int64_t said_ = 0;              // up to which place of it was announced
  EpochOrder next_;
};

}  // namespace stoker
