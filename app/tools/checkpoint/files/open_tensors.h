#pragma once

#include <memory>
#include <string>

#include "app/tools/checkpoint/files/stored_tensors.h"

namespace stoker {

// The checkpoint at `path`, by what is there: the directory of a set of ours; a file of safetensors
// or its index; a file of torch.save; a folder of transformers, which holds model.safetensors, or
// the index of its shards. Error(ExitCode::environment) where there is nothing that could be one,
// with what could; ExitCode::storage for what is damaged, or of another kind.
std::unique_ptr<StoredTensors> open_tensors(const std::string& path);

}  // namespace stoker
