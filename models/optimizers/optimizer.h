#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "io/core/config/registry.h"

namespace stoker {

class BackBuffer;

// What an optimizer remembers of every parameter under one name ("exp_avg"), in the order of the
// parameters. The tensors share the optimizer's memory: writing to them restores it.
struct OptimizerState {
  std::string name;
  std::vector<at::Tensor> tensors;
  // step_into() writes them to the back buffer. Each has its parameter's shape and strides.
  bool in_back_buffer = false;
};

// What an optimizer can do, as its options say it (Component<Optimizer>::info). A value.
struct OptimizerInfo {
  // The optimizer has step_into(): its update can write elsewhere than in place.
  bool out_of_place = false;
};

// Updates parameters from their gradients. One thread at a time. The parameters are shared with the
// model and must keep their device and memory format. Their .grad() may be undefined: such a
// parameter is left alone, as torch::optim does. The constructor allocates all state; step() may
// throw what LibTorch throws.
class Optimizer {
 public:
  static constexpr const char* kKind = "optimizer";
  using Info = OptimizerInfo;
  // All parameters of the model, in its order, on the device that they will stay on.
  struct Inputs {
    std::vector<at::Tensor> parameters;
  };
  virtual ~Optimizer() = default;
  // One update with learning rate `lr` (base_lr() times the schedule's factor). Queued on the
  // device; nothing is waited for.
  virtual void step(double lr) = 0;
  // The same update, bit for bit, but the new parameters and all state with in_back_buffer are
  // written to `back`, which the caller then finishes. Only if OptimizerInfo::out_of_place is true.
  virtual void step_into(BackBuffer& back, double lr);
  // The learning rate of the configuration, which the schedule scales.
  virtual double base_lr() const = 0;
  // All that the next step depends on beside parameters, gradients and rate. It goes into
  // checkpoints as `optimizer.<parameter>.<name>`.
  virtual std::vector<OptimizerState> state() const = 0;
};

template <>
Registry<Optimizer>& Registry<Optimizer>::global();

// What a schedule is, as its options say it (Component<Schedule>::info). A value.
struct ScheduleInfo {
  // A factor depends on how long the run is to be: a resume with another length changes the course.
  bool follows_length = true;
};

// The learning rate over the run as a factor of base_lr. A pure function of the step, so that a
// resumed run needs nothing else. Immutable; any thread.
class Schedule {
 public:
  static constexpr const char* kKind = "schedule";
  using Info = ScheduleInfo;
  // How long the run is planned to be, from its first process on.
  struct Inputs {
    int64_t total_steps;
    int64_t steps_per_epoch;
  };
  virtual ~Schedule() = default;
  // `step` counts from 0, over all epochs and processes. 1 is the full rate.
  virtual double factor(int64_t step) const = 0;
};

template <>
Registry<Schedule>& Registry<Schedule>::global();

}  // namespace stoker
