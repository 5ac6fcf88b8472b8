#include "io/device/cuda_library.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <limits.h>

#include <array>

namespace stoker {
namespace {

// The folder of the LibTorch that this process runs with, by its library's soname.
std::string torch_folder() {
  void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  std::array<char, PATH_MAX> origin{};
  if (torch == nullptr || dlinfo(torch, RTLD_DI_ORIGIN, origin.data()) != 0) return "";
  return std::string(origin.data()) + "/";
}

void* driver() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL); }

}  // namespace

std::optional<std::string> load_cuda() {
  if (driver() == nullptr) {
    return "no CUDA driver here (libcuda.so.1 could not be loaded)";
  }
  // Its static constructors register the CUDA kernels, allocators and streams with LibTorch.
  if (dlopen((torch_folder() + "libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return std::string("LibTorch's CUDA half could not be loaded (") + dlerror() +
           "; ./run.sh fetches its libraries)";
  }
  if (!at::hasCUDA()) {
    return "LibTorch finds no GPU (CUDA_VISIBLE_DEVICES hides it, or the driver is too old)";
  }
  return std::nullopt;
}

std::string cuda_device_name(int64_t index) {
  using Get = int(int* device, int ordinal);
  using GetName = int(char* name, int size, int device);
  auto* const get = reinterpret_cast<Get*>(dlsym(driver(), "cuDeviceGet"));
  auto* const get_name = reinterpret_cast<GetName*>(dlsym(driver(), "cuDeviceGetName"));
  std::array<char, 256> name{};
  int device = 0;
  if (get == nullptr || get_name == nullptr || get(&device, static_cast<int>(index)) != 0 ||
      get_name(name.data(), static_cast<int>(name.size()), device) != 0) {
    return "CUDA device " + std::to_string(index);
  }
  return name.data();
}

}  // namespace stoker
