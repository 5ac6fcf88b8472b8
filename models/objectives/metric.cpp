#include "models/objectives/metric.h"

namespace stoker {

template <>
Registry<Metric>& Registry<Metric>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
