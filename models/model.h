#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "io/core/registry.h"

namespace stoker {

// A network for image classification. One thread at a time. Hold it as shared_ptr
// (torch::nn::Module uses shared_from_this): std::shared_ptr<Model> m = component.create(inputs).
//
// Names and order of parameters and buffers are part of a checkpoint; those of known networks are
// torchvision's. Weights come from LibTorch's global generator, which the caller has seeded.
// Constructors throw Error(ExitCode::config) for shapes that the network cannot take; forward()
// may, for batches that it cannot. Weights are float32 on the CPU first; the caller moves them.
class Model : public torch::nn::Module {
 public:
  static constexpr const char* kKind = "model";
  // The shape of a sample, and how many logits there are.
  struct Inputs {
    int64_t channels;
    int64_t height;
    int64_t width;
    int64_t classes;
  };
  // x: float32 or bfloat16 [N, channels, height, width], on the model's device, in any memory
  // format. Returns logits [N, classes]. Queued on the current stream; nothing is waited for.
  virtual torch::Tensor forward(torch::Tensor x) = 0;
};

template <>
Registry<Model>& Registry<Model>::global();

// For constructors of models: Error(ExitCode::config) where a side is less than `smallest` pixels.
void require_image_size(const char* model, const Model::Inputs& inputs, int64_t smallest);

}  // namespace stoker
