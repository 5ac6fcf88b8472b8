#pragma once

#include <cstdint>
#include <vector>

#include "io/core/notify.h"

namespace stoker {

// Where workers run (loader.pin_workers): worker i on the i-th core of those that the process may
// use, and from the first one again where there are more workers. Any thread once built.
class Pinning {
 public:
  // Unpinned: the scheduler moves workers as it likes.
  Pinning() = default;
  // The cores that the calling thread may use; `notify` gets one line that names them.
  explicit Pinning(const Notify& notify);

  // Keeps the calling thread, worker `number`, on its core. Where the kernel refuses, nothing
  // changes: where a worker runs is no part of a result.
  void pin(int64_t number) const;

 private:
  std::vector<int> cores_;
};

}  // namespace stoker
