#include "io/device/host_memory.h"

#include <ATen/ops/from_blob.h>

#include <fstream>

#include "io/core/memory.h"
#include "io/device/batch_layout.h"

namespace stoker {
HostMemory allocate_host(size_t bytes) { return allocate_huge(bytes, true); }

DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec) {
  DeviceBatch result;
  result.host = batch;
  result.host.on_device = nullptr;
  const auto keep_pixels = [pixels = batch.pixels](void*) {};
  const auto keep_labels = [labels = batch.labels](void*) {};
  const BatchLayout layout = batch_layout(batch.size, spec);
  result.images = at::from_blob(batch.pixels.get(), layout.shape, keep_pixels,
                                torch::TensorOptions(layout.type));
  result.labels = at::from_blob(batch.labels->data(), {batch.size}, keep_labels,
                                torch::TensorOptions(torch::kInt64));
  return result;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "CPU";
}

}  // namespace stoker
