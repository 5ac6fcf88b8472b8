#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stoker {

// Loads the driver and LibTorch's CUDA half, which the program is not linked to. Empty: CUDA can be
// used; else the reason why not. Call it before anything asks LibTorch about CUDA, because LibTorch
// remembers the answer: devices are built first. One thread at a time; calling it again is cheap.
std::optional<std::string> load_cuda();

// The driver's name of a GPU, "NVIDIA H200"; "CUDA device 0" where the driver does not say.
// `index`: among those that CUDA_VISIBLE_DEVICES leaves. After load_cuda(). Any thread.
std::string cuda_device_name(int64_t index);

}  // namespace stoker
