#pragma once

#include <string>

#include "io/core/config/node.h"

namespace stoker {

// Data of a user's own that nobody has described yet. A value.
struct OwnData {
  // Of the folder: fit for a run and for a file.
  std::string name;
  // What was recognised, in words: "a folder of images for each class".
  std::string what;
  // The experiment that reads it: run, storage, dataset, decoder and loader.
  Node experiment;
};

// Looks at the names in a folder (not into its files) and says how they are read: a folder of
// images for each class, also below a lone folder or in parts such as train and val; images without
// classes; shards of tar, TFRecord or Parquet; a list train.csv. A single shard is itself enough.
// Error(ExitCode::environment) where there is nothing of that kind, which names what is there, and
// for what only its owner can describe; Error(ExitCode::environment) for a path that is not there.
OwnData own_data(const std::string& path);

}  // namespace stoker
