#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/networks/model.h"

namespace stoker {

// What training minimises. Immutable. The trainer's thread, inside Device::run.
class Loss {
 public:
  static constexpr const char* kKind = "loss";
  // Whether it is for maps.
  using Info = TargetInfo;
  struct Inputs {
    // Number of classes of the labels, or of the maps.
    int64_t classes;
    // The device of the logits and targets.
    at::Device device;
    // training.label_smoothing: the share of a target that all classes have in equal parts.
    double label_smoothing;
  };
  virtual ~Loss() = default;
  // The mean over samples, or over pixels for maps: a scalar with a gradient. The losses of the
  // parts of a batch, weighted by their samples, add up to that of the whole.
  //
  // logits: float32 [N, classes]; for maps [N, classes, height, width]. targets: int64 [N]; for
  // maps uint8 or int64 [N, height, width]. Queued on the current stream; nothing is waited for.
  // Error(ExitCode::data), on the CPU, for a target that is no class.
  virtual at::Tensor operator()(const at::Tensor& logits, const at::Tensor& targets) const = 0;
};

template <>
Registry<Loss>& Registry<Loss>::global();

}  // namespace stoker
