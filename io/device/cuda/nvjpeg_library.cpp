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

void* open_library() {
  std::string problem;
  for (const char* name : {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (problem.empty()) problem = dlerror();
  }
  fail("nvJPEG could not be loaded (" + problem + ")");
}

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (function == nullptr) fail(std::string("this libnvjpeg has no ") + name);
}

}  // namespace

NvjpegLibrary NvjpegLibrary::load() {
  void* library = open_library();
  NvjpegLibrary result;
  find(library, "nvjpegCreateEx", result.create);
  find(library, "nvjpegDestroy", result.destroy);
  find(library, "nvjpegJpegStateCreate", result.state_create);
  find(library, "nvjpegJpegStateDestroy", result.state_destroy);
  find(library, "nvjpegJpegStreamCreate", result.stream_create);
  find(library, "nvjpegJpegStreamDestroy", result.stream_destroy);
  find(library, "nvjpegJpegStreamParseHeader", result.parse_header);
  find(library, "nvjpegDecodeParamsCreate", result.params_create);
  find(library, "nvjpegDecodeParamsDestroy", result.params_destroy);
  find(library, "nvjpegDecodeParamsSetOutputFormat", result.set_output_format);
  find(library, "nvjpegDecodeBatchedSupportedEx", result.supported);
  find(library, "nvjpegDecodeBatchedInitialize", result.batch_initialize);
  find(library, "nvjpegDecodeBatched", result.decode_batched);
  return result;
}

}  // namespace stoker
