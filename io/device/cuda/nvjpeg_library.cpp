#include "io/device/cuda/nvjpeg_library.h"

#include <dlfcn.h>

#include <string>

#include "io/core/error.h"

namespace stoker::nvjpeg {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(
      ExitCode::device,
      "device: decoder.on_device: decode: " + what +
          "; install libnvjpeg (pip's nvidia-nvjpeg, or the CUDA toolkit's) where the loader "
          "finds it (LD_LIBRARY_PATH), or set decoder.on_device=resize");
}

}  // namespace

void* Library::open() {
  std::string problem;
  for (const char* name : {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (problem.empty()) problem = dlerror();
  }
  fail("nvJPEG could not be loaded (" + problem + ")");
}

Library::Symbol Library::find(const char* name) const {
  void* const address = dlsym(library_, name);
  if (address == nullptr) fail(std::string("this libnvjpeg has no ") + name);
  return {address};
}

}  // namespace stoker::nvjpeg
