#include "io/device/host_memory.h"

#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

namespace stoker {
namespace {

constexpr size_t kHugePage = 2u << 20;

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

HostMemory allocate_host(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  const size_t size = round_up(bytes == 0 ? 1 : bytes, alignment);
  void* memory = std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 0, size);
  return {std::shared_ptr<uint8_t>(static_cast<uint8_t*>(memory), std::free), bytes, false};
}

DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec) {
  DeviceBatch result;
  result.host = batch;
  result.host.on_device = nullptr;
  const auto keep_pixels = [pixels = batch.pixels](void*) {};
  const auto keep_labels = [labels = batch.labels](void*) {};
  result.images =
      at::from_blob(batch.pixels.get(), {batch.size, spec.height, spec.width, spec.channels},
                    keep_pixels, torch::TensorOptions(torch::kUInt8));
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
