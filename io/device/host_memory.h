#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "io/core/batch.h"
#include "io/decoder/decoder.h"
#include "io/device/device.h"

// What devices share: a batch's memory on the host, and how tensors see it. Any thread.

namespace stoker {

// A batch's pixels as a tensor sees them. A value.
struct BatchLayout {
  // NHWC; NCHW where the type is float32; frames, and values with a target behind them: N, bytes,
  // 1, 1.
  std::array<int64_t, 4> shape;
  // uint8, or float32 where the decoder has normalised.
  at::ScalarType type;
};
// The layout of a batch of `size` samples.
BatchLayout batch_layout(int64_t size, const SampleSpec& spec);

// The batch's pixels and labels as tensors over its own memory: no copy. The tensors keep the slot.
DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec);
// The part of a batch on a device with memory of its own that is not on it (DeviceBatch::host):
// everything but the slot. The tensors are still to be filled in.
DeviceBatch without_slot(const Batch& batch);
// The same, with meta tensors: shapes without memory.
DeviceBatch shapes_of(const Batch& batch, const SampleSpec& spec);

}  // namespace stoker
