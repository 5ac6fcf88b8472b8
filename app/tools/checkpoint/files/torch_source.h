#pragma once

#include <memory>
#include <string>

#include "app/tools/checkpoint/files/stored_tensors.h"

namespace stoker {

// A file of torch.save, since PyTorch 1.6: a zip with `data.pkl`, which describes a state dict of
// tensors (state_pickle.h), and a record for each storage. Names of nested dictionaries are put
// together with dots. Tensors that share a storage are each read as a tensor of their own, and
// those that do not lie in row-major order are put into it. Error(ExitCode::storage) with what is
// in the way; IoError.
std::unique_ptr<StoredTensors> open_torch(const std::string& path);

}  // namespace stoker
