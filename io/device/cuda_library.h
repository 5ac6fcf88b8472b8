#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// Loads the driver and LibTorch's CUDA half, which the program is not linked to. Empty: CUDA can be
// used; else the reason why not. Call it before anything asks LibTorch about CUDA, because LibTorch
// remembers the answer: devices are built first. One thread at a time; calling it again is cheap.
std::optional<std::string> load_cuda();

// Where LibTorch's CUDA half is looked for; it need not exist. Any thread.
std::string torch_cuda_path();

// The driver's version and the newest CUDA it runs, as "580.95.05, up to CUDA 13.0"; throws
// Error(ExitCode::device), which says why, where it cannot be loaded. Any thread.
std::string cuda_driver_version();

// Each GPU that CUDA_VISIBLE_DEVICES leaves, as "NVIDIA H200, 139.8 GiB". None without a driver.
// Any thread.
std::vector<std::string> cuda_devices();

// The driver's name of a GPU, "NVIDIA H200"; "CUDA device 0" where the driver does not say.
// `index`: among those that CUDA_VISIBLE_DEVICES leaves. After load_cuda(). Any thread.
std::string cuda_device_name(int64_t index);

// Queues a call on a stream (cudaStream_t) of the current device; the driver makes it, on a thread
// of its own, when the stream gets there, and the stream goes on after it. The function must not
// use CUDA. False: the driver refuses. After load_cuda().
bool call_on_stream(void* stream, void (*function)(void*), void* argument);

}  // namespace stoker
