#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/batch.h"
#include "io/core/config.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/storage/storage.h"

namespace stoker {

// How a data set is packed. A value.
struct PackOptions {
  std::string folder;  // of the tier; empty: its root
  // Of one file, at most; but each holds a sample.
  uint64_t shard_bytes = uint64_t{256} << 20;
  // That read and decode.
  int64_t threads = 1;
  // Training samples are packed in an order that is drawn by this seed; absent: in their own.
  std::optional<uint64_t> shuffle;
  // What is packed, for people: it is kept in the index.
  std::string source;
};

// What was written. A value.
struct PackResult {
  int64_t samples = 0;
  // Bad samples.
  int64_t left_out = 0;
  // Damaged ones that were packed as their decoder makes them (decoder.tolerance).
  std::vector<ToleratedSample> tolerated;
  // Files, and the bytes of all pixels in them.
  int64_t shards = 0;
  uint64_t bytes = 0;
};

// Writes a data set's pixels, decoded by the evaluation transform, as io/dataset/packed_index.h
// says: shards, and at the end the index. Bad samples are treated as dataset.on_error says. Throws
// Error(ExitCode::environment) where there is an index already, Error(ExitCode::data) for bad
// samples, IoError; then what was written is removed again, and there is no index. progress
// (samples done, of all) may be empty, and may throw to stop. Starts and joins threads of its own;
// the data set is read, and the decoder used, by all of them.
PackResult pack_dataset(const Dataset& dataset, const Decoder& decoder, Storage& to,
                        const PackOptions& options,
                        const std::function<void(int64_t, int64_t)>& progress);

// What `stoker dataset pack` is asked for. A value.
struct PackArguments : ConfigArguments {
  std::string to;    // a directory; with `tier`, a folder of that tier
  std::string tier;  // of the experiment; empty: the directory
  // Of one file of pixels, at most; a sample at least is in each.
  ByteSize shard_size{uint64_t{256} << 20};
  bool shuffle = false;  // by the experiment's run.seed
};

// `stoker dataset pack`: packs an experiment's data set, and prints how to train on it.
// Error(ExitCode::config) where neither a directory nor a tier is named; else as pack_dataset().
ExitCode pack_experiment(const PackArguments& arguments);

}  // namespace stoker
