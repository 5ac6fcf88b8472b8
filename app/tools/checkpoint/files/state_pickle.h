#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint/saving/layout.h"

// `data.pkl` of a file of torch.save: Python's description of a state dict, in the second version
// of its pickle format. A pickle is a program for a machine with a stack. What is read here is the
// part of it that a state dict of tensors needs, as torch.load(weights_only=True) has it: nothing
// is imported or called, and whatever else it asks for is refused by its name.

namespace stoker {

// A tensor of the pickle: a view of a storage. A value.
struct PickledTensor {
  std::string name;  // the keys that lead to it, with dots between
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  uint64_t offset = 0;           // likewise
  std::string storage;           // its record is data/<storage>
  uint64_t storage_elements = 0;
};

// What a pickle holds. A value.
struct PickledState {
  std::vector<PickledTensor> tensors;
  std::vector<std::string> others;  // names of values that are no tensors
};

// The largest that is read.
inline constexpr uint64_t kMaxPickle = 64ull << 20;

// Error(ExitCode::storage) that says what is in the way, for bytes that are anything else. Shapes
// and strides are not compared with the storage's size. A pure function; any thread.
PickledState read_state_pickle(std::string_view bytes);

// The state dict of these tensors, each of which has a storage of its own: record data/0 and so on.
// A pure function; any thread.
std::string state_pickle(const std::vector<TensorInfo>& tensors);

// The name of torch's storage class for a dtype ("FloatStorage"), and back; empty: there is none.
std::string storage_class(const std::string& dtype);
std::string dtype_of_storage(std::string_view storage);

}  // namespace stoker
