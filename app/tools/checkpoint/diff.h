#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/core/error.h"
#include "io/core/system/memory.h"

namespace stoker {

// What `stoker checkpoint diff` is asked for. A value.
struct DiffArguments {
  std::string a;
  std::string b;
  // The largest difference of two values that is none.
  std::optional<double> tolerance;
  bool json = false;
};

// A tensor that is not the same in both. A value.
struct TensorDifference {
  std::string name;
  // "only in A", "only in B"; "shape": they cannot be compared; "values"; "type": other bits at
  // least, for it is another type.
  std::string kind;
  std::string a;  // type and shape; empty: it is not there
  std::string b;
  // Of "values" and "type".
  uint64_t elements = 0;
  uint64_t different = 0;
  double largest = 0;   // infinite where one is no number, and the other one is
  double mean = 0;      // of all elements
  double relative = 0;  // the largest difference of two values, as a share of the larger one
};

// Two checkpoints side by side. A value.
struct CheckpointDifference {
  uint64_t tensors = 0;  // that both have
  uint64_t equal = 0;    // bit by bit, among those
  std::vector<TensorDifference> others;
  // The tensors `model.*` of a set were compared by the names that the network has for them,
  // because the other one is no set, and has no name in common.
  bool network = false;
  bool identical() const { return others.empty(); }
  // Whether something differs by more than this.
  bool beyond(double tolerance) const;
};

// Reads every byte of both. Error(ExitCode::storage) where one of them is damaged; IoError. One
// thread.
CheckpointDifference compare_checkpoints(const StoredTensors& a, const StoredTensors& b);

// `stoker checkpoint diff`: prints which tensors of two checkpoints differ, and how far.
// ExitCode::threshold where a tolerance was given, and is not kept. Errors as open_tensors().
ExitCode diff_checkpoints(const DiffArguments& arguments);

// The elements of a tensor as numbers, which are exact: a long double has 64 bits. dtype: one that
// a layout may have (layout.h). A pure function; any thread.
void element_values(const std::string& dtype, Bytes bytes, std::vector<long double>& values);

}  // namespace stoker
