#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "io/core/device_copies.h"

namespace stoker {

// Copies of tensors on a device with streams (CUDA) to pinned host memory, on a stream of their
// own, so that steps go on meanwhile. `tensors` must be contiguous; the result keeps them. They
// must stay unchanged until wait(), or be changed only by work that is queued after fence(). The
// current stream of this call is the one whose work the copies wait for. Thread rule and contract:
// DeviceCopies'. What LibTorch throws is passed on.
std::shared_ptr<DeviceCopies> make_device_copies(at::Device device,
                                                 std::vector<at::Tensor> tensors);

}  // namespace stoker
