#include "io/checkpoint/checkpointer.h"

namespace stoker {

template <>
Registry<Checkpointer>& Registry<Checkpointer>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
