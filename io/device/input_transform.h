#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "io/core/config/registry.h"
#include "io/decoder/decoder.h"
#include "io/device/device.h"

namespace stoker {

// A batch on its device -> what the model takes: normalised values (io/decoder/pixels.h) of
// shape [N, channels, height, width] in the model's memory format and type, resized there where the
// samples are frames. The trainer's thread, inside Device::run; never waits for the device.
// Failures are Error(ExitCode::device), and ExitCode::data for encoded frames whose damage shows
// only now.
class InputTransform {
 public:
  static constexpr const char* kKind = "input_transform";
  struct Inputs {
    at::Device device;
    // What the samples in the batches are.
    SampleSpec spec;
    // The model's memory format: channels last, or planes.
    bool channels_last = false;
    // The type of the values; it may be kBFloat16.
    at::ScalarType type = at::kFloat;
  };
  virtual ~InputTransform() = default;
  // Returns a new tensor; the batch is not changed, and must stay until the step is submitted.
  // Float32 samples are taken as they are.
  virtual at::Tensor operator()(const DeviceBatch& batch) const = 0;
};

// What the model is to find out about the samples of a batch on its device: their labels, int64
// [N]; or, of samples with a target (SampleSpec), the classes of their pixels, uint8 [N, height,
// width], seen where they lie in the batch, which must stay. The trainer's thread, inside
// Device::run.
at::Tensor targets(const DeviceBatch& batch, const SampleSpec& spec);

// Plug-ins register theirs; `cuda_kernels` is the one that is looked for.
template <>
Registry<InputTransform>& Registry<InputTransform>::global();

// For colours one pass of our own on the CPU, and kernels of our own on CUDA where the plug-in was
// found; else LibTorch's operators, which know no frames: Error(ExitCode::device).
std::unique_ptr<InputTransform> make_input_transform(const InputTransform::Inputs& inputs);

}  // namespace stoker
