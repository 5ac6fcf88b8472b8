#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/core/random.h"
#include "io/dataset/dataset.h"
#include "io/loader/loader_options.h"

namespace stoker {

class SampleFiles;

// The indices of one epoch in the order in which this rank trains on them. A value.
struct EpochOrder {
  std::optional<int64_t> epoch = {};  // nothing: no order has been computed yet
  // false: neighbours lie side by side, and are best read so.
  bool scattered = false;
  // This rank's, in the order of its batches.
  std::vector<int64_t> samples;
  // With loader.order: shards, the same samples in the order in which they lie in their files. From
  // one multiple of `stretch` to the next both orders have the same samples. `stretch` is 0 with
  // any other order.
  std::vector<int64_t> reading = {};
  int64_t stretch = 0;
};

// Error(ExitCode::config) where a place in the run is none: epochs and batches are counted from 0.
void check_place(int64_t epoch, int64_t batch);

// The part of a batch that one rank has. A value.
struct BatchPart {
  // Where it begins in EpochOrder::samples.
  int64_t begin = 0;
  int64_t size = 0;
  // Samples of all ranks.
  int64_t whole = 0;
  // Batch::filler.
  bool filler = false;
};

// Which samples make up which batch: a pure function of (seed, epoch), the same for every loader
// and any number of workers. Immutable; any thread.
//
// All ranks have equally many batches, and take an equal part of each, one behind the other (parts
// differ by one sample where it cannot be divided). Training: batch_size samples each of an epoch
// in which every sample is once; what is left at the end is dropped, or without drop_last a smaller
// batch. Evaluation: the order of the data set; where loader.order deals files to ranks, each rank
// goes through its share of the files in that order.
//
// loader.order says which samples those are. permutation and window: an order of all samples is cut
// into batches, and each batch into parts, so that a batch is the same whatever the number of
// ranks. local_files and global_files: all files one behind the other, in the data set's order or
// in a new one each epoch, are cut into a share for each rank, of as many samples as its parts
// have; its batches go through its share, file by file in a new order each epoch, and through each
// file in a new order. So a file belongs to one rank, unless a cut goes through it. No cut does if
// the ranks divide batch_size and files of equal size. local_window: shares as by local_files; a
// rank goes through its own as it lies, through a shuffle buffer of `window` samples. shards: files
// are dealt as by global_files; a rank goes through cycle_length of its files in turn, block_length
// samples of each, as they lie there, from a place that is drawn each epoch; every `window` samples
// of that are shuffled among themselves. (tf.data's interleave; MosaicML Streaming's py1b.)
class Sampler {
 public:
  // Error(ExitCode::config) where training has not one batch, or a batch not one sample for each
  // rank. Keeps no reference.
  Sampler(const LoaderOptions& options, Shard shard, const Dataset& dataset, Split split,
          uint64_t seed);

  // The same of another rank; what is known of files is shared. Error(ExitCode::config) likewise.
  Sampler(const Sampler& other, Shard shard);

  // The number of batches in every epoch; the same for all ranks.
  int64_t batches() const { return batches_; }
  // The part of this rank. A batch that the epoch does not have is empty: it has no filler either.
  BatchPart part(int64_t batch) const;
  // Computes the order of an epoch: proportional to all samples, so the caller keeps it. Empty
  // where there is no batch. Error(ExitCode::config) for an epoch below 0.
  EpochOrder order(int64_t epoch) const;

 private:
  // All samples, in the order of the batches.
  std::vector<int64_t> of_all_ranks(int64_t epoch) const;
  // Error(ExitCode::config) where a batch has not one sample for each rank.
  void check_ranks() const;
  // This rank's, file by file, as they were dealt.
  std::vector<std::vector<int64_t>> share(int64_t epoch) const;
  // This rank's, in the order of its batches.
  std::vector<int64_t> of_own_files(int64_t epoch) const;
  EpochOrder of_shards(int64_t epoch) const;
  // The generator of this rank's order in an epoch. own_samples(): the samples of all its batches
  // without a filler.
  Random random_of(int64_t epoch) const;
  int64_t own_samples() const;
  void add_filler(std::vector<int64_t>& order) const;

  LoaderOptions options_;
  Shard shard_;
  int64_t samples_;
  bool shuffled_;
  bool dealt_;  // files, to ranks
  uint64_t seed_;
  std::shared_ptr<const SampleFiles> files_;  // empty if the order does not ask for them
  int64_t batches_ = 0;
};

}  // namespace stoker
