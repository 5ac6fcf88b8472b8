#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "io/core/config/registry.h"

namespace stoker {

// Work that is recorded once and launched as a whole from then on (a CUDA graph). The trainer's
// thread, inside Device::run. Failures are Error(ExitCode::device).
class StepGraph {
 public:
  static constexpr const char* kKind = "step_graph";
  struct Inputs {
    // A GPU, with its index.
    at::Device device;
  };
  // Not while a replay is still running.
  virtual ~StepGraph() = default;
  // Records what `work` launches, without computing it. Tensors that `work` makes, gradients
  // included, have no values before a replay, and keep their memory as long as they live. Waits for
  // the work before it. Once per object.
  virtual void capture(const std::function<void()>& work) = 0;
  // Queues the recorded work behind what was launched before. It reads the same memory, with the
  // values of that time; random numbers go on as if `work` ran. Never waits.
  virtual void replay() = 0;
};

// Plug-ins register theirs; `cuda_graph` is the one that is looked for.
template <>
Registry<StepGraph>& Registry<StepGraph>::global();

// Error(ExitCode::config) for a device that is not a GPU, ExitCode::device without the plug-in.
std::unique_ptr<StepGraph> make_step_graph(at::Device device);

}  // namespace stoker
