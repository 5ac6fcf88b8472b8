#pragma once

#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>

#include "io/checkpoint/saving/layout.h"
#include "io/core/error.h"

// Tensors of Python's that a set is made of, or that it is read into.

namespace stoker::python {

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
