#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>

#include "io/core/registry.h"

namespace stoker {

// Work that a device is given again and again without the host's launching it again. The trainer's
// thread, inside Device::run. Failures are Error(ExitCode::device).
class StepGraph {
 public:
  static constexpr const char* kKind = "step_graph";
  struct Inputs {
    torch::Device device;
  };
  virtual ~StepGraph() = default;
  // Records what `work` launches; nothing of it is computed, and tensors that it makes have no
  // values before a replay. They keep their memory for as long as they live, also the gradients.
  // Waits for the work before it. Once per object.
  virtual void capture(const std::function<void()>& work) = 0;
  // Queues the recorded work behind what was launched before: the same memory, the values that are
  // there by then, and random numbers that go on as if `work` ran. Never waits.
  virtual void replay() = 0;
};

// Plug-ins register theirs; `cuda_graph` is the one that is looked for.
template <>
Registry<StepGraph>& Registry<StepGraph>::global();

// Error(ExitCode::config) for a device that is no GPU, ExitCode::device without the plug-in.
std::unique_ptr<StepGraph> make_step_graph(torch::Device device);

}  // namespace stoker
