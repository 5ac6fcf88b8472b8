#include "models/optimizers/optimizer.h"

#include "io/core/error.h"

namespace stoker {

template <>
Registry<Optimizer>& Registry<Optimizer>::global() {
  static Registry registry;
  return registry;
}

void Optimizer::step_into(Twin&, double) {
  throw Error(ExitCode::bug, "this optimizer writes into no twin");
}

template <>
Registry<Schedule>& Registry<Schedule>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
