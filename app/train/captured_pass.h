#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/device/device.h"

namespace stoker {

// A training step's forward and backward pass, given to the device as one graph. The first passes
// run as they are, so that libraries load and choose their algorithms. Then one is captured, and
// from then on batches are copied to where it reads them and the graph is replayed. Batches of
// another shape run as they are. The trainer's thread, inside Device::run. Failures are the
// graph's: Error(ExitCode::device). Parameters and what the pass refers to must keep their memory
// as long as this lives: a graph has addresses in it.
class CapturedPass {
 public:
  // Passes before the capture, as many as torch.cuda.make_graphed_callables makes.
  static constexpr int kEagerPasses = 3;
  // Leaves new gradients (not added to old ones) and returns the loss, a float32 scalar.
  using Pass = std::function<at::Tensor(const at::Tensor& images, const at::Tensor& labels)>;

  // Captures nothing yet. `parameters` are those whose gradients `pass` leaves.
  CapturedPass(std::unique_ptr<StepGraph> graph, std::vector<at::Tensor> parameters, Pass pass);

  // The loss, on the device; the next call may overwrite it. The gradients are new ones, or the
  // graph's own, which every replay overwrites.
  at::Tensor operator()(const at::Tensor& images, const at::Tensor& labels);

 private:
  // Counts the passes of this shape. True: now is the time to capture one.
  bool warm(const at::Tensor& images);
  void capture(const at::Tensor& images, const at::Tensor& labels);
  at::Tensor replay(const at::Tensor& images, const at::Tensor& labels);

  const std::unique_ptr<StepGraph> graph_;
  const std::vector<at::Tensor> parameters_;
  const Pass pass_;
  // The shape of the eager passes, and later of the graph; and how many passes had it.
  std::vector<int64_t> shape_;
  int passes_ = 0;
  bool captured_ = false;
  // What the graph reads and writes.
  at::Tensor images_;
  at::Tensor labels_;
  at::Tensor loss_;
  std::vector<at::Tensor> gradients_;
};

}  // namespace stoker
