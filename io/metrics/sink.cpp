#include "io/metrics/sink.h"

namespace stoker {

template <>
Registry<MetricsSink>& Registry<MetricsSink>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
