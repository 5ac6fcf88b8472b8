#pragma once

#include <memory>
#include <string>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/checkpoint/restoring/safetensors.h"

namespace stoker {

// One file of safetensors. The header has to say of every byte behind it which tensor's it is.
// Error(ExitCode::storage) with what is wrong, and where; IoError.
std::unique_ptr<StoredTensors> open_safetensors(const std::string& path);

// The files that an index names ("model.safetensors.index.json"), as transformers shards them. They
// lie in its folder. Each tensor is that of the file which the index names for it. Errors as above.
std::unique_ptr<StoredTensors> open_safetensors_index(const std::string& path);

}  // namespace stoker
