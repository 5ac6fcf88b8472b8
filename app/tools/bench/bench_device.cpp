#include "app/tools/bench/bench_device.h"

namespace stoker {

template <>
Registry<BenchDevice>& Registry<BenchDevice>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<BenchDevice> bench_device(const LoaderInfo& loader,
                                          const BenchDevice::Inputs& experiment) {
  if (loader.device_batches_ahead == 0 && !loader.resident) return nullptr;
  return default_component<BenchDevice>("configured").create(experiment);
}

LoaderUse loader_use(const std::unique_ptr<BenchDevice>& device) {
  return device ? device->use() : LoaderUse{};
}

}  // namespace stoker
