#pragma once

#include <ATen/core/Tensor.h>

namespace stoker {

// The gradient of `parameter` with the parameter's strides, because the fused kernels walk memory,
// not indices. Autograd already makes it so; anything else is copied. The gradient must be defined.
// The thread of the optimizer.
at::Tensor aligned_gradient(const at::Tensor& parameter);

}  // namespace stoker
