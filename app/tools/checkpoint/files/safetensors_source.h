#pragma once

#include <memory>
#include <string>

#include "app/tools/checkpoint/files/stored_tensors.h"

namespace stoker {

// The most tensors, and the most files of an index, that are read from a file of other programs.
inline constexpr uint64_t kMaxForeignTensors = 100'000;
inline constexpr uint64_t kMaxForeignFiles = 10'000;

// One file of safetensors. The header has to say of every byte behind it which tensor's it is.
// Error(ExitCode::storage) with what is wrong, and where; IoError.
std::unique_ptr<StoredTensors> open_safetensors(const std::string& path);

// The files that an index names ("model.safetensors.index.json"), as transformers shards them. They
// lie beside it; all tensors of all of them stand in it, each with its file. Errors as above.
std::unique_ptr<StoredTensors> open_safetensors_index(const std::string& path);

}  // namespace stoker
