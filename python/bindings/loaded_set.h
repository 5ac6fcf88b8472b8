#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/loaded_state.h"
#include "python/bindings/arrays.h"

namespace stoker::python {

// stoker._core.LoadedSet: a set in memory, every byte of which was verified when it was read. One
// thread at a time.
class LoadedSet {
 public:
  // Reads files of it that are not there yet; without the GIL. Empty: all are there.
  using Read = std::function<void(LoadedState& state, const std::vector<size_t>& files)>;
  LoadedSet(LoadedState state, int64_t threads, Read read = {});

  int64_t step() const { return state_.step(); }
  std::string path() const { return state_.path(); }
  std::string values() const;
  // name, dtype, shape
  nanobind::list tensors() const;
  // How many files have tensors.
  size_t files() const { return state_.manifest().layout.files.size(); }
  // Reads these of them, where they are not there. DamagedSet; IoError.
  void read(const std::vector<size_t>& files);
  // The bytes of a tensor from `begin` on, as many as the target has; of its type.
  void copy(size_t index, const Target& target, uint64_t begin);

 private:
  LoadedState state_;
  const int64_t threads_;
  const Read read_;
  std::vector<bool> there_;  // of the files
};

}  // namespace stoker::python
