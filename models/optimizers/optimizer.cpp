#include "models/optimizers/optimizer.h"

#include "io/core/error.h"

namespace stoker {

template <>
Registry<Optimizer>& Registry<Optimizer>::global() {
  static Registry registry;
  return registry;
}

void Optimizer::step_into(BackBuffer&, double) {
  throw Error(ExitCode::bug, "this optimizer writes into no back buffer");
}

template <>
Registry<Schedule>& Registry<Schedule>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
