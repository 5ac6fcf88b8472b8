#include "io/device/host_memory.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace stoker {

BatchLayout batch_layout(int64_t size, const SampleSpec& spec) {
  if (spec.frame != 0 || spec.target != 0) {
    return {{size, static_cast<int64_t>(spec.bytes()), 1, 1}, at::kByte};
  }
  if (spec.type == PixelType::float32) {
    return {{size, spec.channels, spec.height, spec.width}, at::kFloat};
  }
  return {{size, spec.height, spec.width, spec.channels}, at::kByte};
}

DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec) {
  DeviceBatch result;
  result.host = batch;
  result.host.on_device = nullptr;
  const auto keep_pixels = [pixels = batch.pixels](void*) {};
  const auto keep_labels = [labels = batch.labels](void*) {};
  const BatchLayout layout = batch_layout(batch.size, spec);
  result.images =
      at::from_blob(batch.pixels.get(), layout.shape, keep_pixels, at::TensorOptions(layout.type));
  result.labels =
      at::from_blob(batch.labels->data(), {batch.size}, keep_labels, at::TensorOptions(at::kLong));
  return result;
}

DeviceBatch without_slot(const Batch& batch) {
  DeviceBatch result;
  result.host = batch;
  result.host.on_device = nullptr;
  result.host.pixels = nullptr;
  return result;
}

DeviceBatch shapes_of(const Batch& batch, const SampleSpec& spec) {
  DeviceBatch result = without_slot(batch);
  const at::TensorOptions meta(at::kMeta);
  const BatchLayout layout = batch_layout(batch.size, spec);
  result.images = at::empty(layout.shape, meta.dtype(layout.type));
  result.labels = at::empty({batch.size}, meta.dtype(at::kLong));
  return result;
}

}  // namespace stoker
