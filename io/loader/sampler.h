#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

// The order in which workers take the places of a batch: the largest samples first, so that no
// large one is begun when the other workers have nothing left to do. A sample's place, and so the
// batch, is the same in any order. One thread at a time; refers to the data set.
class LargestFirst {
 public:
  // Asks the data set for nothing yet.
  LargestFirst(const Dataset& dataset, Split split);

  // The places of a batch of these samples (indices in the split), those with most encoded bytes
  // first; equal ones in the order of the batch. Empty: all are equally large, take places as they
  // come. Asks for the size of each sample once in the object's life.
  std::vector<int32_t> places(std::span<const int64_t> samples);

 private:
  // Plus one, and at most 2^32 - 1.
  uint32_t bytes_of(int64_t sample);

  const Dataset& dataset_;
  const Split split_;
  // The encoded bytes of each sample, plus one. 0: it was not asked for yet.
  std::vector<uint32_t> bytes_;
};

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
