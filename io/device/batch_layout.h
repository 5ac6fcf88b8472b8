#pragma once

#include <torch/types.h>

#include <array>

#include "io/decoder/decoder.h"

namespace stoker {

// A batch's pixels as a tensor sees them. A value.
struct BatchLayout {
  std::array<int64_t, 4> shape;  // NHWC; NCHW where the type is float32; frames: N, bytes, 1, 1
  torch::ScalarType type;
};

// Of a batch of `size` samples.
inline BatchLayout batch_layout(int64_t size, const SampleSpec& spec) {
  if (spec.frame != 0) return {{size, static_cast<int64_t>(spec.frame), 1, 1}, torch::kUInt8};
  if (spec.type == PixelType::float32) {
    return {{size, spec.channels, spec.height, spec.width}, torch::kFloat32};
  }
  return {{size, spec.height, spec.width, spec.channels}, torch::kUInt8};
}

}  // namespace stoker
