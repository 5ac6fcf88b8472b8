#pragma once

#include <cstdint>
#include <optional>

#include "models/optimizers/optimizer.h"

namespace stoker {

// The beginning that all schedules share: the rate rises linearly to its full value (Goyal et al.,
// arXiv:1706.02677, section 2.2). The options of a schedule are derived from it, and call its
// visit() and check() if they have their own. A value.
struct Warmup {
  // At most one of the two is given. Neither: no warm-up.
  std::optional<int64_t> steps;
  std::optional<int64_t> epochs;
  template <class V>
  void visit(V& v) {
    v("warmup_steps", steps,
      "Number of steps over which the learning rate rises to its full value.", Limits{1, 1e12});
    v("warmup_epochs", epochs,
      "Number of epochs over which the learning rate rises to its full value.", Limits{1, 1e9});
  }
  // Error(ExitCode::config) if both are given.
  void check(const Section& section) const;

  // The number of steps before the full rate; 0 without warm-up.
  int64_t length(const Schedule::Inputs& inputs) const;
};

// 1 / (length + 1) at step 0, 1 from step `length` on.
double warmup_factor(int64_t step, int64_t length);

}  // namespace stoker
