#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/experiment/data_options.h"
#include "io/metrics/hub.h"

namespace stoker {

// How much of the way from the tier to the batch a sample goes.
enum class ReadStages {
  read,    // the encoded bytes
  decode,  // and its JPEG is decoded at full size
  resize   // and the whole decoder works on them: it decodes, augments and resizes
};
// Their names on the command line.
EnumNames<ReadStages> enum_names(ReadStages);

// One pass over the samples by one number of threads. A value.
struct ReadRepetition {
  double seconds = 0;
  int64_t images = 0;  // without bad samples
  uint64_t bytes = 0;  // encoded bytes of those
  int64_t bad = 0;
  // What it asked of the tier: operations of all kinds, and bytes that were read. Absent where the
  // data set has no tier.
  struct Asked {
    int64_t requests = 0;
    uint64_t bytes = 0;
  };
  std::optional<Asked> asked;
  // Share of the files that was in the page cache before; absent where nobody knows.
  std::optional<double> resident;
  // It should have been cold and was not, or nobody knows: its time is no measurement.
  bool spoiled = false;
};

// Takes the samples, which are the first of an epoch's order, with `threads` threads, and returns
// what that took: seconds, images, bytes, bad. Keeps memory for the next pass. One pass at a time.
// Error(ExitCode::data) for a bad sample where dataset.on_error.policy is fail.
using ReadPass = std::function<ReadRepetition(int64_t threads, int64_t epoch,
                                              const std::vector<int64_t>& samples)>;

// Threads that do nothing else, each with one sample in flight; a sample is dropped at once.
// libjpeg: libjpeg-turbo does ReadStages::decode, as in decoder turbojpeg; else our own decoder
// does. seed: the augmentation is a function of it. Data set and decoder must outlive the pass.
ReadPass bare_reads(const Dataset& dataset, const Decoder& decoder, ReadStages stages,
                    uint64_t seed, bool libjpeg);

// The loader `threaded` with `threads` workers and as many samples ahead does what TensorFlow's
// parallel map does: it keeps the order of the input and makes batches of `batch` samples (Chien et
// al. 2018). ReadStages::read
// drops the bytes. The data set must outlive the pass. Error(ExitCode::config) for
// ReadStages::decode, which no loader does. Bad samples are replaced and count both as bad and, by
// their replacements, as images.
ReadPass pipeline_reads(const Dataset& dataset, const DataOptions& experiment, ReadStages stages,
                        int64_t batch);

// What `tier` was asked for so far. The hub must outlive the function.
std::function<ReadRepetition::Asked()> asked_of(const Hub& hub, const std::string& tier);

// The same pass, which also counts what was asked meanwhile. asked: asked_of(); where it is empty,
// nothing is counted.
ReadPass counted(ReadPass pass, std::function<ReadRepetition::Asked()> asked);

// The experiment's own loader, up to host memory, with `threads` workers and batches of `batch`, in
// its own order and with its own reading ahead. Each pass has a new loader, which has read nothing
// before the pass begins. What it has read of a next epoch when the last batch came counts as asked
// (`asked`: as for counted()). The rest is as with pipeline_reads().
ReadPass loader_reads(const Dataset& dataset, const DataOptions& experiment, ReadStages stages,
                      int64_t batch, const std::function<ReadRepetition::Asked()>& asked);

}  // namespace stoker
