#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/base/process_use.h"
#include "io/core/config/registry.h"
#include "io/experiment/experiment_data.h"
#include "io/loader/failure_budget.h"
#include "io/loader/loader.h"

namespace stoker {

// Full epochs of a loader without a model. A value.
struct LoaderBenchmark {
  int64_t images = 0;                // per epoch
  double first_batch_s = 0;          // in the warm-up epoch
  std::vector<double> images_per_s;  // one per measured epoch
  // Process CPU seconds per 1,000 images over the measured epochs.
  double cpu_s_per_1000 = 0;
  // Time of the workers for each image.
  double read_us = 0;
  double decode_us = 0;
  double bytes_per_image = 0;
  int64_t skipped = 0;
  int64_t tolerated = 0;

  // Context switches of all threads per 1,000 images over the measured epochs.
  double voluntary_switches = 0;
  double involuntary_switches = 0;
  // Copies per image over the measured epochs, as they happened: what read calls copied out of the
  // kernel (1.0 times bytes_per_image where every file is read once; nothing where it is mapped or
  // read by io_uring), and what memcpy and memmove moved, of encoded bytes and pixels alike. The
  // decoder's own writing into the slot, once sample_bytes, is the work itself and not counted;
  // pixels that go through other memory first show up as what is copied from there. They are absent
  // where nothing counted them in this process (CallCounts), or where this system does
  // not know.
  std::optional<double> bytes_by_read_calls;
  std::optional<double> bytes_moved;
  // Calls per image that gave new memory, and those of them by libjpeg itself.
  std::optional<double> allocations;
  std::optional<double> libjpeg_allocations;

  // What the whole process has after the measured epochs.
  ProcessMemory memory;
  // Bytes of a sample in a batch.
  size_t sample_bytes = 0;
  // Bytes of the batches that are ready and of the one that is held; 0: they are on the device.
  int64_t queue_bytes = 0;
  // Batches of an epoch, and how many of them may be ready before it begins: they are part of its
  // rate, which says little where they are most of it.
  int64_t batches = 0;
  int64_t batches_ahead = 0;
  // Samples stayed on the device, so nothing was read in the measured epochs.
  bool resident = false;
};

// Returns whether it wants to see another batch.
using BatchObserver = std::function<bool(const Batch&)>;

// One warm-up epoch of the configured loader, whose info this is, then `epochs` measured ones;
// every batch is taken and dropped at once. After that `observe` is shown batches of the first
// epoch once more, from its beginning. `progress` is told after each batch how many of all have
// come. The calling thread is the consumer. Error(ExitCode::data) for more bad samples than the
// data set allows.
LoaderBenchmark measure_loader(ExperimentData& data, const LoaderInfo& info, const LoaderUse& use,
                               int64_t epochs, const BatchObserver& observe = {},
                               const std::function<void(int64_t, int64_t)>& progress = {});

// Measures one epoch of a new loader without a warm-up, for data that must not have been read
// before. Returns images/s.
double measure_first_epoch(ExperimentData& data, const LoaderUse& use, int64_t epoch);

// What an epoch of a loader took, or the beginning of an epoch. A value.
struct LoadedEpoch {
  double seconds = 0;
  double first_batch_s = 0;
  int64_t images = 0;
  // Samples that were replaced; their replacements are among the images.
  int64_t bad = 0;
  // What the loader's workers did.
  LoadCost cost;
  // The last batch had its pixels in host memory.
  bool on_host = true;
};

// The one way in which a loader is measured: takes batch after batch of an epoch and drops each at
// once, until the epoch ends or `images` have come. see: is shown every batch in the time that is
// measured, and may throw. The calling thread is the consumer.
LoadedEpoch load_epoch(Loader& loader, int64_t epoch,
                       const std::function<void(const Batch&)>& see = {},
                       int64_t images = std::numeric_limits<int64_t>::max());

// Which bad samples dataset.on_error allows in training.
FailureBudget training_budget(const Dataset& dataset);

// Makes a loader whose remarks are left out.
std::unique_ptr<Loader> quiet_loader(const Component<Loader>& loader, const Dataset& dataset,
                                     const Decoder& decoder, const LoaderUse& use,
                                     LoaderMeter& meter, uint64_t seed);

// The device of an experiment, for loaders that put batches on one. It needs LibTorch and is in a
// library of its own, which is loaded when one is made. One thread.
class BenchDevice {
 public:
  static constexpr const char* kKind = "bench device";
  struct Inputs {
    // The experiment file and its overrides.
    const std::string& config;
    const std::vector<std::string>& overrides;
  };
  virtual ~BenchDevice() = default;
  // What a loader of training samples needs of it. Valid while the device lives.
  virtual LoaderUse use() = 0;
  virtual std::string name() const = 0;
};

template <>
Registry<BenchDevice>& Registry<BenchDevice>::global();

// Opens the experiment's device where its loader puts batches on one; null: it does not.
// Error(ExitCode::config) as read_experiment(), or where the library is missing.
std::unique_ptr<BenchDevice> bench_device(const LoaderInfo& loader,
                                          const BenchDevice::Inputs& experiment);

// What a loader needs of that device, or of the host's memory where there is none.
LoaderUse loader_use(const std::unique_ptr<BenchDevice>& device);

}  // namespace stoker
