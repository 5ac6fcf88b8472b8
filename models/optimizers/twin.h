#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace stoker {

// Other memory for the values that one update changes: it reads them where they are and writes them
// here, so that what was before it is left as it is (checkpoint.snapshot: swap). Then the tensors
// move: their handles, and all that share their memory, see the new values. Tensors are on the CPU,
// dense, and own their memory alone. One thread, that of the optimizer; one update's.
class Twin {
 public:
  // What an update is made of. Each list has one tensor for each parameter; `gradients` have the
  // parameters' strides.
  struct Values {
    std::vector<std::vector<at::Tensor>> changed;
    std::vector<at::Tensor> gradients;
  };
  // Changes `values` in place, in flat pieces of the tensors of list entry `of`. It must treat each
  // value by itself. Called by several threads at once.
  using Kernel = std::function<void(const Values& piece, size_t of)>;

  // memory: owns all that add() names.
  explicit Twin(std::shared_ptr<void> memory) : memory_(std::move(memory)) {}
  // `to`: as many bytes as the tensor has, aligned as LibTorch aligns its own (64).
  void add(const at::Tensor& tensor, uint8_t* to);

  // Of each piece: what it changes is copied to where it stays in the cache, changed there, and
  // written here past the cache: as much of the memory's rate as an update in place takes. Bit for
  // bit what the kernel makes of whole tensors, whose vectors the pieces do not split. Tensors that
  // add() does not know are changed where they are.
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
  // Of tensor `of` in each of a list; flat.
  struct Flat {
    std::vector<at::Tensor> from, to;
    at::Tensor gradient;
    bool moves(size_t list) const { return !to[list].is_same(from[list]); }
  };
  Flat flat(const Values& values, size_t of);

  const std::shared_ptr<void> memory_;
  std::unordered_map<const c10::TensorImpl*, Place> places_;
};

}  // namespace stoker
