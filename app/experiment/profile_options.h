#pragma once

#include <cstdint>

#include "io/core/config.h"

namespace stoker {

// When LibTorch's profiler runs (ProfileWindow).
struct ProfileOptions {
  int64_t every_steps = 0;
  int64_t steps = 5;
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "0: never; else a window of LibTorch's profiler (Kineto; CUPTI on a GPU) begins after every "
      "so many steps",
      Limits{0, 1e9});
    v("steps", steps, "length of a window", Limits{1, 1e6});
  }
  void check(const Section& section) const;
};

}  // namespace stoker
