#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/config/registry.h"

namespace stoker {

// A tensor of a network. Shares its memory with the network.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  // True: a parameter, which the optimizer updates. False: a buffer, which the forward pass
  // updates.
  bool trained;
};

// What a model predicts about a sample: its class, or (maps) the class of each of its pixels. The
// options of models, losses and metrics say it, and have to agree. A value.
struct TargetInfo {
  bool maps = false;
};

// A network for classes of images or of their pixels. One thread at a time. Networks of LibTorch's
// modules derive from Network (models/networks/network.h), which leaves them forward() alone to
// write.
//
// Names and order of the state are part of a checkpoint; those of known networks are
// torchvision's. Weights come from LibTorch's global generator, which the caller has seeded.
// Constructors throw Error(ExitCode::config) for shapes that the network cannot take; forward()
// may, for batches that it cannot. Weights are float32 on the CPU first.
class Model {
 public:
  static constexpr const char* kKind = "model";
  using Info = TargetInfo;
  // The shape of a sample, and how many logits there are.
  struct Inputs {
    int64_t channels;
    int64_t height;
    int64_t width;
    int64_t classes;
  };
  virtual ~Model() = default;
  // x: float32 or bfloat16 [N, channels, height, width], on the model's device, in any memory
  // format. Returns logits [N, classes], or of each pixel [N, classes, height, width]. Queued on
  // the current stream; nothing is waited for.
  virtual at::Tensor forward(at::Tensor x) = 0;
  // Parameters, then buffers; the same ones in every call.
  virtual std::vector<NamedTensor> state() const = 0;
  // Whether the next forward() is one of a training (dropout, batch normalisation) or not. True at
  // first.
  virtual void set_training(bool on) = 0;
  // Moves the state to a device; kernels of convolutions (four dimensions) get the memory format.
  // Called before state() is.
  virtual void place(at::Device device, at::MemoryFormat format) = 0;
};

template <>
Registry<Model>& Registry<Model>::global();

// The tensors of state() that are trained.
std::vector<at::Tensor> parameters(const Model& model);

// For constructors of models: Error(ExitCode::config) where a side is less than `smallest` pixels.
void require_image_size(const char* model, const Model::Inputs& inputs, int64_t smallest);

}  // namespace stoker
