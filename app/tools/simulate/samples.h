#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/tools/simulate/inputs.h"
#include "io/dataset/dataset.h"
#include "io/loader/sampler.h"

namespace stoker {

// A data set with only sizes and files, which is all that the program's own sampler and order of
// claims ask for. Immutable; any thread.
class SizesOnly final : public Dataset {
 public:
  // sizes: the size of each sample. Empty: all are as `data` says.
  SizesOnly(const SimulatedData& data, std::vector<uint64_t> sizes);

  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return split == Split::train ? data_.samples : 0; }
  SampleInfo info(Split split, int64_t index) const override;
  // Throws: there is nothing to read.
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override;

  uint64_t bytes(int64_t sample) const {
    return sizes_.empty() ? data_.sample_bytes.bytes : sizes_[static_cast<size_t>(sample)];
  }
  int64_t file(int64_t sample) const { return sample / data_.samples_per_file; }
  // Bytes of all samples of a file together.
  uint64_t file_bytes(int64_t file) const;
  bool equal() const { return sizes_.empty(); }

 private:
  const SimulatedData data_;
  const std::vector<uint64_t> sizes_;
  const std::vector<std::string> classes_{"none"};
};

// Says which samples are in which batch of which rank, by the program's own Sampler. The orders of
// two epochs are kept, because loaders read ahead over the end of an epoch. One thread.
class SampleOrders {
 public:
  // An order is made when samples() asks for it. The data set must outlive it.
  SampleOrders(const LoaderOptions& options, int64_t ranks, const Dataset& dataset, uint64_t seed);

  // Batches of an epoch.
  int64_t batches() const { return batches_; }
  // batch: its number in the run, counted over the epochs.
  BatchPart part(int64_t rank, int64_t batch) const {
    return samplers_[static_cast<size_t>(rank)].part(batch % batches_);
  }
  // BatchPart::size; quicker for all but an epoch's last batch.
  int64_t size(int64_t rank, int64_t batch) const {
    if (batch % batches_ + 1 < batches_) return full_[static_cast<size_t>(rank)];
    return part(rank, batch).size;
  }
  // Valid until an order of two epochs later is asked for.
  std::span<const int64_t> samples(int64_t rank, int64_t batch);
  // EpochOrder::scattered.
  bool scattered(int64_t batch) { return of(batch / batches_).scattered; }

 private:
  struct Epoch {
    int64_t epoch = -1;
    bool scattered = false;
    std::vector<int64_t> all;               // for all ranks, if they have parts of one order
    std::vector<std::vector<int64_t>> own;  // else of each
  };
  Epoch& of(int64_t epoch);

  const LoaderOptions options_;
  const bool dealt_;
  std::vector<Sampler> samplers_;  // one for each rank
  Sampler whole_;
  int64_t batches_;
  std::vector<int64_t> full_;  // for each rank: samples of a batch that is not the last
  std::array<Epoch, 2> epochs_;
};

}  // namespace stoker
