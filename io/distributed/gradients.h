#pragma once

#include <ATen/core/Tensor.h>

namespace stoker {

// Makes the gradients of all ranks one: after backward() every rank has their mean. The trainer's
// thread. Error(ExitCode::device) where a rank fails or is gone.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  // Before each forward pass that a backward() follows.
  virtual void before_forward() = 0;
  // Backward from this loss. The exchange of what is there goes on meanwhile; it has ended when
  // this returns (on a GPU: is queued).
  virtual void backward(const at::Tensor& loss) = 0;
  // In place of both on a rank that has no loss: it gives zeros, so that the others' backward()
  // ends. Their mean is of no use then.
  virtual void stand_in() = 0;
};

}  // namespace stoker
