#include "models/optimizers/gradients.h"

#include <ATen/ops/empty_like.h>

namespace stoker {

at::Tensor aligned_gradient(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_like(parameter).copy_(gradient);
}

}  // namespace stoker
