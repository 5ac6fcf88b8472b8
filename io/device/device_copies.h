#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "io/checkpoint/snapshot.h"

namespace stoker {

// Copies of tensors on a device with streams (CUDA) to pinned host memory, on a stream of their
// own. `tensors` must be contiguous, and stay unchanged until wait(), or by work that is queued
// after fence(). Thread rule and contract: DeviceCopies'.
std::shared_ptr<DeviceCopies> make_device_copies(torch::Device device,
                                                 std::vector<torch::Tensor> tensors);

}  // namespace stoker
