#include "io/device/device.h"

namespace stoker {

template <>
Registry<Device>& Registry<Device>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
