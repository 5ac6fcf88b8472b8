#include "io/core/config/part_check.h"

namespace stoker {

template <>
Registry<PartCheck>& Registry<PartCheck>::global() {
  static Registry<PartCheck> registry;
  return registry;
}

}  // namespace stoker
