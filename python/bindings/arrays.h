#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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

}  // namespace stoker::python
