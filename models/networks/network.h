#pragma once

#include <torch/nn/module.h>

#include <vector>

#include "models/networks/model.h"

namespace stoker {

// A model of LibTorch's modules: what register_module() and register_parameter() were told of is
// its state. Owned by a unique_ptr, so what asks for shared_from_this (modules(), clone()) throws.
// A header of its own, for those of LibTorch's modules take a compiler 20 s.
class Network : public Model, public torch::nn::Module {
 public:
  std::vector<NamedTensor> state() const final;
  void set_training(bool on) final;
  void place(at::Device device, at::MemoryFormat format) final;
};

}  // namespace stoker
