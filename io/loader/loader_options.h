#pragma once

#include <cstdint>

#include "io/loader/loader.h"

namespace stoker {

// Who fills a batch. together: all workers the one that is needed next, and those ahead of it over
// the end of the epoch. apart: each worker a batch of its own, and none before its epoch has begun,
// as PyTorch's DataLoader does.
enum class Filling { together, apart };
EnumNames<Filling> enum_names(Filling);

// The options of every loader, so that a sweep changes nothing but loader.type. Options that a type
// has no use for stand in its kIdle (config.h). A value. A loader that says more of itself derives
// from it and has an info() of its own.
struct LoaderOptions {
  // Samples per batch, of all ranks together.
  int64_t batch_size = 64;
  AutoCount workers;
  bool pin_workers = false;
  // Complete batches ahead, in host memory and on the device; and samples of the next batches.
  int64_t prefetch_batches = 2;
  int64_t device_batches = 2;
  int64_t samples_ahead = 0;
  bool shuffle = true;
  SampleOrder order = SampleOrder::permutation;
  int64_t window = 1000;
  int64_t cycle_length = 1;
  int64_t block_length = 1;
  bool single_file_stays = false;
  bool drop_last = true;
  bool in_order = true;
  Filling filling = Filling::together;
  bool digest = false;
  template <class V>
  void visit(V& v) {
    v("batch_size", batch_size, "Samples in a batch, of all ranks together.", Limits{1, 1 << 20});
    v("workers", workers,
      same_results("Number of threads that read and decode. auto: one for each core that the "
                   "process may use."));
    v("pin_workers", pin_workers,
      same_results("Whether each worker stays on one core. The cores that the process may use are "
                   "taken in turn."));
    v("prefetch_batches", prefetch_batches,
      same_results("How many complete batches are made ahead in host memory."), Limits{1, 4096});
    v("device_batches", device_batches,
      same_results("How many batches are copied ahead to the device."), Limits{1, 4096});
    v("samples_ahead", samples_ahead,
      same_results("How many samples the workers may have finished or under way beyond the batch "
                   "at hand. 0: none. TensorFlow's map(num_parallel_calls=N) holds N."),
      Limits{0, 1 << 20});
    v("shuffle", shuffle,
      "Whether training takes the samples in a new order every epoch. Evaluation never shuffles.");
    v("order", order,
      "The order of training samples. `permutation`: all samples in random order. `window`: all "
      "files in a new order, then mixed by `window`. `local_files`: each rank keeps its files and "
      "shuffles them and the samples in each. `global_files`: the same, with files dealt anew "
      "every epoch. `local_window`: each rank keeps its files in the data set's order, then mixes "
      "by `window`. `shards`: files are dealt anew every epoch and read from begin to end, with "
      "`window` samples mixed at a time. With the last four, batches depend on the number of "
      "ranks.");
    v("window", window,
      "With `order: window` and `local_window`: samples in the shuffle buffer, as in tf.data's "
      "shuffle(). With `order: shards`: how many samples are mixed with one another.",
      Limits{1, 1e9});
    v("cycle_length", cycle_length,
      "With `order: shards`: how many files are read in turn, as in tf.data's interleave().",
      Limits{1, 1024});
    v("block_length", block_length,
      "With `order: shards`: how many consecutive samples a file gives in its turn.",
      Limits{1, 1e9});
    v("single_file_stays", single_file_stays,
      "With `order: global_files`: if there are no more files than ranks, each rank keeps the "
      "files of epoch 0, as in NERSC's HEPCNNB (2018).");
    v("drop_last", drop_last,
      "Whether training leaves out the last batch of an epoch if it is smaller. Evaluation never "
      "does.");
    v("in_order", in_order,
      "Whether each batch has the samples of its place in the order. false: batches are filled by "
      "whatever has been read of the batches ahead, so that none waits for one slow read; each "
      "epoch still has each sample once. Batches are then others in each run, and a resume within "
      "an epoch may leave out some samples and take others twice.");
    v("filling", filling,
      same_results("Who fills a batch. `together`: all workers the one that is needed next, and "
                   "what is ahead goes on over the end of an epoch. `apart`: each worker one of "
                   "its own, and none before its epoch, as PyTorch's DataLoader does."));
    v("digest", digest,
      same_results("Whether the XXH3-128 digest of every batch is written into digests.csv."));
  }
  // Error(ExitCode::config) for an order without shuffle, and what has no meaning in it.
  void check(const Section& section) const;
  // Error(ExitCode::config) for in_order: false; for loaders that fill one batch at a time.
  void check_in_order(const Section& section) const;
  // What a loader does that has workers and makes this many batches ahead. Other loaders add what
  // they do.
  LoaderInfo info(int64_t host_batches_ahead = 0, int64_t device_batches_ahead = 0) const;
};

}  // namespace stoker
