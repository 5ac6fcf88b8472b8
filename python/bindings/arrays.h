#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/checkpoint/saving/layout.h"
#include "io/core/error.h"
#include "io/core/system/memory.h"

namespace stoker::python {

// Memory that C++ owns as an array of Python's (DLPack and the buffer protocol, no copy), which
// keeps `memory` alive as long as anybody uses it. type: uint8, float32 or int64. strides: in
// elements; empty: C order. Memory that came over a fork is never given back.
enum class ArrayType { uint8, float32, int64 };
nanobind::object array_of(std::shared_ptr<void> memory, void* data, ArrayType type,
                          const std::vector<size_t>& shape,
                          const std::vector<int64_t>& strides = {});
// The same for any type that DLPack has; the buffer protocol may lack it.
nanobind::object array_of(std::shared_ptr<void> memory, void* data, nanobind::dlpack::dtype type,
                          const std::vector<size_t>& shape,
                          const std::vector<int64_t>& strides = {});

// Memory from a function of Python's: allocate(bytes) gives an array of at least that size on the
// host, such as torch.empty(bytes, dtype=torch.uint8, pin_memory=True). May be called from any
// thread; takes the GIL. None: memory of our own.
HostAllocator allocator_of(nanobind::object allocate);

// Tensors of Python's that a set is made of, or that it is read into.

using Tensor = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using Target = nanobind::ndarray<nanobind::device::cpu>;

// As safetensors spells it. Empty: a set cannot hold it.
std::string dtype_name(nanobind::dlpack::dtype type);

[[noreturn]] void refuse_tensor(const std::string& name, const std::string& why);

// In C order, as a set has it. Nothing is copied: a target that is a copy would stay as it was.
template <class Array>
TensorInfo info_of(const std::string& name, const Array& array) {
  TensorInfo info{name, dtype_name(array.dtype()), {}, array.nbytes()};
  if (info.dtype.empty()) refuse_tensor(name, "checkpoints have no such type of numbers");
  int64_t stride = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    const bool counts = array.shape(i) != 1 && array.size() > 0;
    if (counts && array.stride(i) != stride) {
      refuse_tensor(name, "it must be contiguous, in C order");
    }
    stride *= static_cast<int64_t>(array.shape(i));
  }
  for (size_t i = 0; i < array.ndim(); ++i) {
    info.shape.push_back(static_cast<int64_t>(array.shape(i)));
  }
  return info;
}

}  // namespace stoker::python
