#pragma once

#include <optional>
#include <string>

#include "app/base/command_line.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker checkpoint list` and `verify` are asked for. config: an experiment, a directory with
// step-... in it, one of these, or the prefix of a checkpoint of TensorFlow's (bundle_prefix()). A
// value.
struct CheckpointArguments : ConfigArguments {
  bool all = false;  // verify all sets, not the newest ones alone
};

// `stoker checkpoint list`: prints the sets on every tier, and what else lies where they are. Reads
// only, so that it may look at the checkpoints of a run that is under way. Error(ExitCode::config)
// where the configuration saves none.
ExitCode list_checkpoints(const CheckpointArguments& arguments);
// `stoker checkpoint verify`: reads every byte of the sets. ExitCode::storage where one is damaged;
// a set that a run removes meanwhile is none.
// Error(ExitCode::environment) if there are no sets.
ExitCode verify_checkpoints(const CheckpointArguments& arguments);

// A checkpoint of TensorFlow's, whoever wrote it: `where` is PREFIX.index, or the PREFIX that
// TensorFlow's own functions take (io/checkpoint/sets/tensor_bundle.h). Empty: no such file.
std::optional<std::string> bundle_prefix(const std::string& where);

// `stoker checkpoint list PREFIX`, and `verify`, which reads every byte too: prints the tensors of
// it, each with type, shape, size and file. Returns ExitCode::storage where a tensor is damaged.
// Error(ExitCode::storage) where the index is, IoError where a file cannot be read.
ExitCode list_bundle(const std::string& prefix, bool verify, bool json);

}  // namespace stoker
