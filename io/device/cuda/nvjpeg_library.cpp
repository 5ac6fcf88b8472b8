#include "io/device/cuda/nvjpeg_library.h"

#include <dlfcn.h>

#include <string>

#include "io/core/error.h"

namespace stoker {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(
      ExitCode::device,
      "device: decoder.on_device: decode: " + what +
          "; install libnvjpeg (pip's nvidia-nvjpeg, or the CUDA toolkit's) where the loader "
          "finds it (LD_LIBRARY_PATH), or set decoder.on_device=resize");
}

}  // namespace

void* NvjpegLibrary::open() {
  const std::string name = "libnvjpeg.so." + std::to_string(NVJPEG_VER_MAJOR);
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  fail(std::string("nvJPEG could not be loaded (") + dlerror() + ")");
}

NvjpegLibrary::Symbol NvjpegLibrary::find(const char* name) const {
  void* const address = dlsym(library_, name);
  if (address == nullptr) fail(std::string("this libnvjpeg has no ") + name);
  return {address};
}

}  // namespace stoker
