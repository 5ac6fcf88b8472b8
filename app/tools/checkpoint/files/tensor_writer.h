#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"

namespace stoker {

// A tensor that is written: what it is called there, and where its bytes are from. A value; the
// source must outlive it.
struct WrittenTensor {
  TensorInfo info;
  const StoredTensors* source = nullptr;
  size_t index = 0;  // in the source
};

// Both write files that nobody sees before they are whole and durable; nothing is left of what
// failed. A file of that name is in the way: Error(ExitCode::config). Every byte is compared with
// what the source says of it. They return the paths of what was written.

// A file of safetensors, as transformers reads it ("format": "pt"). With max_shard_bytes above 0
// and more tensors than that, `model.safetensors` becomes model-00001-of-0000N.safetensors and so
// on, in the order of the tensors, and model.safetensors.index.json, which appears last.
// Error(ExitCode:: config) for names that a header cannot have.
std::vector<std::string> write_safetensors(const std::vector<WrittenTensor>& tensors,
                                           const std::string& path, uint64_t max_shard_bytes);

// A file of torch.save with a state dict (an OrderedDict), which torch.load(weights_only=True)
// reads.
std::vector<std::string> write_torch(const std::vector<WrittenTensor>& tensors,
                                     const std::string& path);

}  // namespace stoker
