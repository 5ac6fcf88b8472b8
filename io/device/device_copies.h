#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "io/checkpoint/snapshot.h"

namespace stoker {

// Copies of tensors on a device with streams (CUDA) to pinned host memory, on a stream of their
// own. `tensors` are contiguous and stay unchanged until fence(), with the work queued after it,
// or wait(). Contract: DeviceCopies'.
std::shared_ptr<DeviceCopies> make_device_copies(torch::Device device,
                                                 std::vector<torch::Tensor> tensors);

}  // namespace stoker
