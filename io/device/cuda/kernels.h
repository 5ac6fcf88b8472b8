#pragma once

#include <cstdint>

// The launches of kernels.cu, without LibTorch. They are queued on a stream (cudaStream_t) of the
// current device, allocate nothing and wait for nothing. All memory is the device's; it belongs to
// the caller and must stay until the stream has got there. A batch has at most 65,535 samples.
// Returned is null where the kernel was launched, else what CUDA says, a literal.

namespace stoker {

// A batch of normalised values on the device: [N, 3, height, width], or the channels last in
// memory. A value; somebody else owns the memory.
struct ValueBatch {
  // The first value of the first sample.
  void* data = nullptr;
  bool bf16 = false;  // else fp32
  bool channels_last = false;
};

// `rgb`: `images` images of `pixels` interleaved RGB pixels each.
const char* launch_normalise(const uint8_t* rgb, int64_t images, int64_t pixels,
                             const ValueBatch& out, void* stream);

// Frames -> normalised samples of size x size. `frames`: `images` headers one after another, whose
// offsets lead to the pixels (io/core/sample_spec.h, kind pixels).
const char* launch_resize(const uint8_t* frames, int64_t images, int64_t size,
                          const ValueBatch& out, void* stream);

}  // namespace stoker
