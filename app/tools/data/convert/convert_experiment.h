#pragma once

#include <cstdint>
#include <string>

#include "app/base/command_line.h"
#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {

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
