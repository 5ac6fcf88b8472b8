#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/base/config_arguments.h"
#include "io/core/config.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/storage/storage.h"

namespace stoker {

struct PackOptions {
  std::string folder;  // of the tier
  uint64_t shard_bytes = uint64_t{256} << 20;
  int64_t threads = 1;
  std::string source;  // what is packed, for people
};

struct PackResult {
  int64_t samples = 0;
  int64_t left_out = 0;  // bad samples
  int64_t shards = 0;
  uint64_t bytes = 0;
};

// Writes a data set's pixels, decoded by the evaluation transform, as io/dataset/packed_index.h
// says: shards, and at the end the index. Bad samples are treated as dataset.on_error says. Throws
// Error(ExitCode::environment) where there is an index already, Error(ExitCode::data) for bad
// samples, IoError; then what was written is removed again, and there is no index.
PackResult pack_dataset(const Dataset& dataset, const Decoder& decoder, Storage& to,
                        const PackOptions& options,
                        const std::function<void(int64_t, int64_t)>& progress);

struct PackArguments : ConfigArguments {
  std::string to;    // a directory; with `tier`, a folder of that tier
  std::string tier;  // of the experiment; empty: the directory
  ByteSize shard_size{uint64_t{256} << 20};
  bool json = false;
};

// `stoker dataset pack`: packs an experiment's data set, and prints how to train on it.
ExitCode pack_experiment(const PackArguments& arguments);

}  // namespace stoker
