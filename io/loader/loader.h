#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "io/core/batch.h"
#include "io/core/config/config.h"
#include "io/core/notify.h"
#include "io/core/ranks/rank_group.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"

namespace stoker {

class Device;
class LoaderMeter;

// A number of threads; auto: as many as the cores that this process may use, looked up anew by
// every call. At least 1.
int64_t thread_count(const AutoCount& threads);

// In which order training takes the samples. A file is what SampleInfo::file says.
enum class SampleOrder { permutation, window, local_files, global_files, local_window, shards };
EnumNames<SampleOrder> enum_names(SampleOrder);
// Are files dealt to ranks, so that batches depend on how many there are?
constexpr bool deals_files(SampleOrder order) {
  return order != SampleOrder::permutation && order != SampleOrder::window;
}

// What a loader does, as its options say it (Component<Loader>::info). A value. If a loader says
// nothing, all fields have their defaults.
struct LoaderInfo {
  // Samples; 0: it does not say.
  int64_t batch_size = 0;
  // Threads that read and decode; 0: the trainer's own does.
  int64_t workers = 0;
  // Complete batches before they are asked for, in host memory ...
  int64_t host_batches_ahead = 0;
  // ... and on a device that has memory of its own.
  int64_t device_batches_ahead = 0;
  // Samples of the batches behind these, in host memory.
  int64_t samples_ahead = 0;
  // Samples are read once, and stay on the device.
  bool resident = false;
  // All batches of training have batch_size samples.
  bool drop_last = true;
  // The order of training. It is permutation, too, if training does not shuffle.
  SampleOrder order = SampleOrder::permutation;
  bool shuffle = true;
  // Batches have digests.
  bool digest = false;
  // Which samples make up a batch depends on the number of ranks, whatever the order says.
  bool batches_by_ranks = false;
  // The data set's objects are mapped: they have to be files of this machine, on a tier that does
  // not want to see their reads. Empty: they are not mapped, else what maps them, as the user calls
  // it.
  std::string maps_files = {};

  // Are complete batches made before they are asked for?
  bool works_ahead() const {
    return host_batches_ahead + device_batches_ahead > 0 ||
           (samples_ahead > 0 && samples_ahead >= batch_size);
  }
};

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

// Which part of the data this process loads, of how many. A value.
struct Shard {
  int64_t rank = 0;
  int64_t world = 1;
  // Its places [first, second) in a batch of `whole` samples.
  std::pair<int64_t, int64_t> places(int64_t whole) const {
    return {whole * rank / world, whole * (rank + 1) / world};
  }
};

// Batches in the order of the sampler: for one seed the same bytes from every type and any number
// of workers. One consumer thread; the loader's own threads end with it.
//
// After an exception, or in the middle of an epoch, start() makes it usable again. It must be
// destroyed before what Inputs refers to; batches that were handed out may live longer. Both end
// what is being read for batches that nobody will get (io/core/interruption.h), and wait for no
// more than a system call.
class Loader {
 public:
  static constexpr const char* kKind = "loader";
  using Info = LoaderInfo;
  // What a loader works with; all of it must outlive the loader.
  struct Inputs {
    const Dataset& dataset;
    const Decoder& decoder;
    // Memory of batches: pinned where they are copied to a GPU.
    HostAllocator allocate;
    Split split;
    // The run's seed. Order, augmentation and replacements are functions of it.
    uint64_t seed;
    // Remarks for the user's log.
    Notify notify;
    LoaderMeter& meter;
    // The part of every batch that this loader loads.
    Shard shard{};
    // Where batches go; null: they stay in host memory. Loaders that work for a device need one.
    Device* device = nullptr;
    // All ranks that load parts of the batches, for loaders that read together.
    RankGroup& group = alone();
    // Begins the names of the channels on which it meets those of the other ranks. Loaders that
    // live at the same time have different ones.
    std::string channel = "loader";
    // Bytes of batches that callers may hold at once; four batches always. Beyond that next() is an
    // error.
    uint64_t may_hold = std::numeric_limits<uint64_t>::max();
  };
  virtual ~Loader() = default;

  // The number of batches that this rank has in an epoch. It is constant.
  virtual int64_t batches() const = 0;
  // Sets the position: the next next() gives batch `first_batch` of `epoch`. Where that is what the
  // loader has ahead anyway, nothing is thrown away.
  virtual void start(int64_t epoch, int64_t first_batch) = 0;
  // The next batch; blocks until it is filled. Empty: the epoch is over.
  //
  // Interrupted: the thread was told to give up before that. It does not wait for the workers then:
  // they go on until start() or the destructor.
  //
  // Error(ExitCode::data) for a bad sample where dataset.on_error.policy is fail, after all batches
  // before it were handed out. Under skip the batch lists its replacements, and the caller accounts
  // for them (FailureBudget).
  // Error(ExitCode::config) where callers hold more batches than they may (Inputs::may_hold). The
  // loader stays where it is.
  // Error(ExitCode::storage) where the tier fails: no sample is to blame for that.
  // IoError and BadSample never leave a loader; what a device throws does, and what a decoder
  // lacks.
  virtual std::optional<Batch> next() = 0;
};

template <>
Registry<Loader>& Registry<Loader>::global();

}  // namespace stoker
