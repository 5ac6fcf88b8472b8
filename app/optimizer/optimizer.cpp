#include "app/optimizer/optimizer.h"

namespace stoker {

template <>
Registry<Optimizer>& Registry<Optimizer>::global() {
  static Registry registry;
  return registry;
}

template <>
Registry<Schedule>& Registry<Schedule>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
