#include "io/device/cuda_library.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <limits.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "io/core/error.h"

namespace stoker {
namespace {

void* driver() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL); }

// Calls a function of the driver's. False: it fails, or the driver has no such function.
template <class... Arguments>
bool call(const char* name, Arguments... arguments) {
  void* const loaded = driver();
  auto* const function = loaded == nullptr ? nullptr : dlsym(loaded, name);
  return function != nullptr &&
         reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) == 0;
}

}  // namespace

std::string torch_cuda_path() {
  // In the folder of the LibTorch that this process runs with, known by its library's soname.
  const std::string name = "libtorch_cuda.so";
  void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  std::array<char, PATH_MAX> origin{};
  if (torch == nullptr || dlinfo(torch, RTLD_DI_ORIGIN, origin.data()) != 0) return name;
  return std::string(origin.data()) + "/" + name;
}

std::optional<std::string> load_cuda() {
  if (driver() == nullptr) {
    return "no CUDA driver here (libcuda.so.1 could not be loaded)";
  }
  // Its static constructors register the CUDA kernels, allocators and streams with LibTorch.
  if (dlopen(torch_cuda_path().c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return std::string("LibTorch's CUDA half could not be loaded (") + dlerror() +
           "; ./run.sh fetches its libraries)";
  }
  if (!at::hasCUDA()) {
    return "LibTorch finds no GPU (CUDA_VISIBLE_DEVICES hides it, or the driver is too old)";
  }
  return std::nullopt;
}

std::string cuda_driver_version() {
  if (driver() == nullptr) throw Error(ExitCode::device, dlerror());
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ..."; absent in some containers.
  std::string version = "unknown version", word;
  std::ifstream file("/proc/driver/nvidia/version");
  while (file >> word && word != "Module") {
  }
  if (file >> word && word == "for") file >> word >> word;  // "for x86_64", of the open modules
  if (file) version = word;
  int cuda = 0;
  if (!call("cuDriverGetVersion", &cuda)) return version;
  return version + ", up to CUDA " + std::to_string(cuda / 1000) + "." +
         std::to_string(cuda % 1000 / 10);
}

std::vector<std::string> cuda_devices() {
  std::vector<std::string> devices;
  int count = 0;
  if (!call("cuInit", 0U) || !call("cuDeviceGetCount", &count)) return devices;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    size_t bytes = 0;
    if (!call("cuDeviceGet", &device, i) || !call("cuDeviceTotalMem_v2", &bytes, device)) continue;
    std::array<char, 32> size{};
    std::snprintf(size.data(), size.size(), ", %.1f GiB", static_cast<double>(bytes) / (1U << 30));
    devices.push_back(cuda_device_name(i) + size.data());
  }
  return devices;
}

bool call_on_stream(void* stream, void (*function)(void*), void* argument) {
  return call("cuLaunchHostFunc", stream, function, argument);
}

std::string cuda_device_name(int64_t index) {
  std::array<char, 256> name{};
  int device = 0;
  if (!call("cuDeviceGet", &device, static_cast<int>(index)) ||
      !call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), device)) {
    return "CUDA device " + std::to_string(index);
  }
  return name.data();
}

}  // namespace stoker
