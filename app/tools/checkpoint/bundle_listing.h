#pragma once

#include <optional>
#include <string>

#include "io/core/error.h"

namespace stoker {

// A checkpoint of TensorFlow's, whoever wrote it: `where` is PREFIX.index, or the PREFIX that
// TensorFlow's own functions take (io/checkpoint/sets/tensor_bundle.h). Empty: no such file.
std::optional<std::string> bundle_prefix(const std::string& where);

// `stoker checkpoint list PREFIX`, and `verify`, which reads every byte too: prints the tensors of
// it, each with type, shape, size and file. Returns ExitCode::storage where a tensor is damaged.
// Error(ExitCode::storage) where the index is, IoError where a file cannot be read.
ExitCode list_bundle(const std::string& prefix, bool verify, bool json);

}  // namespace stoker
