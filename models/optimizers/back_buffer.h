#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace stoker {

// Other memory that one update writes its results to (checkpoint.snapshot: swap). The update reads
// the values where they are and writes the new ones here, so that a save can go on reading the old
// ones. finish() then swaps: the tensors, their handles, and all that share their memory see the
// new values. Tensors are on the CPU, dense, and own their memory alone. One thread, that of the
// optimizer. Serves one update.
class BackBuffer {
 public:
  // The values of an update. Each list has one tensor for each parameter; `gradients` have the
  // parameters' strides.
  struct Values {
    std::vector<std::vector<at::Tensor>> changed;
    std::vector<at::Tensor> gradients;
  };
  // Changes `values` in place, in flat pieces of the tensors of list entry `of`. It must treat each
  // value by itself. Called by several threads at once.
  using Kernel = std::function<void(const Values& piece, size_t of)>;

  // memory: owns all memory that add() is given.
  explicit BackBuffer(std::shared_ptr<void> memory) : memory_(std::move(memory)) {}
  // `to`: as many bytes as the tensor has, aligned as LibTorch aligns its own (64).
  void add(const at::Tensor& tensor, uint8_t* to);

  // Updates piece by piece: the values of a piece are copied to a buffer that stays in the cache,
  // changed there, and written here past the cache. That moves as many bytes as an update in place.
  // The result is, bit for bit, that of the kernel on whole tensors, because pieces do not split
  // its vectors. Tensors that add() does not know are changed where they are.
  void update(const Values& values, const Kernel& kernel);
  // Copies the tensors that no update has changed, and moves all. Once; afterwards only the
  // destructor.
  void finish();

 private:
  struct Place {
    at::Tensor tensor;
    uint8_t* to;
    bool written = false;
  };
  // The tensors with index `of` in each list, flattened.
  struct Flat {
    std::vector<at::Tensor> from, to;
    at::Tensor gradient;
    bool moves(size_t list) const { return !to[list].is_same(from[list]); }
  };
  Flat flat(const Values& values, size_t of);

  const std::shared_ptr<void> memory_;
  std::unordered_map<const c10::TensorImpl*, Place> places_;
};

// The gradient of `parameter` with the parameter's strides, because the fused kernels walk memory,
// not indices. Autograd already makes it so; anything else is copied. The gradient must be defined.
// The thread of the optimizer.
at::Tensor aligned_gradient(const at::Tensor& parameter);

}  // namespace stoker
