#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "io/core/batch.h"
#include "io/core/config/config.h"
#include "io/core/error.h"
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
// what is being read for batches that nobody will get (io/core/threads.h), and wait for no
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

// The device of a loader that works for one. Error(ExitCode::config) where nobody computes.
Device& needed_device(const Loader::Inputs& inputs);

}  // namespace stoker
