#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/data/convert/journal.h"
#include "app/tools/data/convert/plan.h"
#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/decoder/decoder.h"
#include "io/storage/storage.h"

namespace stoker {

// A folder of a tier. A value.
struct ConvertTarget {
  const Tiers& tiers;
  std::string tier;
  std::string folder = {};  // empty: the tier's root
  // The beginning of its keys: empty, or the folder with a '/' after it.
  std::string prefix() const;
};

// How a data set is converted. A value.
struct ConvertOptions {
  Component<ShardFormatWriter> format;
  PlanOptions plan;
  // Number of threads that read, decode and write.
  int64_t threads = 1;
  // What is converted, for people; some formats keep it.
  std::string source = {};
  // What the pixels depend on in addition to the samples. For formats that hold pixels.
  std::string pixels = {};
  // Read everything again and compare.
  bool verify = true;
};

// Functions of the caller that are called meanwhile. Each may be empty.
struct ConvertHooks {
  // Gets what is counted ("samples"), how many are done, and of how many. One thread at a time.
  std::function<void(const std::string&, int64_t, int64_t)> progress;
  // Asked whether to go on. A result other than ExitCode::ok is the code with which to stop. Any
  // thread.
  std::function<ExitCode()> stop;
  Notify note;
};

// What was written. A value.
struct ConvertResult {
  int64_t samples = 0;
  // The samples that were left out, in their order.
  std::vector<LeftOutSample> left_out;
  std::vector<ToleratedSample> tolerated;
  int64_t shards = 0;
  // How many of these an earlier call had written.
  int64_t found = 0;
  // An earlier call had come to its end: nothing was written, and all was compared.
  bool complete_before = false;
  // Bytes of all samples, as they were written.
  uint64_t bytes = 0;
  // The data set that reads it, as an experiment has it.
  Node dataset = {};
};

// Writes a data set in another format: its samples in their order, in shards that are written in
// parallel, each durable before it counts; at the end it is opened by the format's own data set,
// and every sample compared with what was written. Formats of pixels get them from `decoder`, by
// its evaluation transform. Bad samples are treated as dataset.on_error says.
//
// After any failure, kill -9 too, the same call goes on with the shards that are missing, and the
// result is the same to the byte (journal.h). Where the same call has come to its end before,
// nothing is written: the samples are read, and compared with those that are there. Throws
// Error(ExitCode::environment) where the folder has something else, Error(ExitCode::data) for bad
// samples, Error(ExitCode::storage) if the tier that is read fails (io/dataset/read_sample.h) or
// something does not read as it was written, Error with the code of hooks.stop; IoError. Starts and
// joins threads of its own.
ConvertResult convert_dataset(const Dataset& dataset, const Decoder& decoder,
                              const ConvertTarget& target, const ConvertOptions& options,
                              const ConvertHooks& hooks = {});

// What `stoker dataset convert` is asked for. A value.
struct ConvertArguments : ConfigArguments {
  // Where to: a directory; with `tier`, a folder of that tier ("." is its root).
  std::string to;
  std::string tier;    // a tier of the experiment; empty: `to` is a directory
  std::string format;  // a writable one of the registry
  // Largest size of one shard. Each shard has at least one sample.
  ByteSize shard_size{uint64_t{256} << 20};
  bool pixels = false;   // the format's option of that name
  bool shuffle = false;  // by the experiment's run.seed
  bool no_verify = false;
};

// `stoker dataset convert`: writes the data set of an experiment, or a directory of class folders
// (`config`), in another format, with a line of progress, and prints how to train on it. SIGTERM
// and SIGINT stop it between two samples, with their exit codes. Throws as convert_dataset();
// Error(ExitCode::config) for an unknown format or tier.
ExitCode convert_experiment(const ConvertArguments& arguments);

}  // namespace stoker
