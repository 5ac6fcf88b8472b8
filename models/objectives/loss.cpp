#include "models/objectives/loss.h"

namespace stoker {

template <>
Registry<Loss>& Registry<Loss>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
