#include "app/run/optional_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>

#include "app/experiment/precision.h"
#include "io/core/config/part_check.h"
#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/device/cuda_library.h"
#include "io/device/frame_upload.h"
#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

[[noreturn]] void fail(const std::string& why) { throw Error(ExitCode::environment, why); }

// `use` returns what the part is, and throws where it does not work.
OptionalPart part(const std::string& name, const std::function<std::string()>& use) {
  try {
    return {name, true, use()};
  } catch (const std::exception& error) {  // LibTorch's own among them
    return {name, false, error.what()};
  }
}

void need_file(const std::string& path, const std::string& how) {
  if (!std::filesystem::exists(path)) fail(path + " is not there: " + how);
}

std::string torch_cuda() {
  need_file(torch_cuda_path(), "STOKER_GPU=1 ./run.sh fetches it");
  if (const auto problem = load_cuda()) fail(torch_cuda_path() + ": " + *problem);
  return torch_cuda_path();
}

std::string cuda_plugin(const char* name) {
  const std::string path = plugin_beside_library(name);
  need_file(path, "STOKER_GPU=1 ./run.sh builds it");
  if (load_cuda()) fail(path + ": it needs libtorch_cuda");
  load_plugin(path);
  return path;
}

std::string opencv_plugin() {
  const std::string path = plugin_beside_library("stoker_opencv");
  need_file(path, "./run.sh list builds it; the images without it are smaller (docker/README.md)");
  load_plugin(path);
  return path;
}

std::string parquet() {
  need_file(plugin_beside_library("stoker_parquet"), "./run.sh list builds it");
  return default_component<PartCheck>("parquet").create({})->use();
}

std::string nvjpeg() {
  if (Registry<FrameDecoder>::global().find("nvjpeg") == nullptr) fail("it needs stoker_cuda");
  return "decoder.on_device: decode, " +
         default_component<FrameDecoder>("nvjpeg").create({})->description();
}

std::string hdf5() { return default_component<PartCheck>("hdf5").create({})->use(); }

std::string uring() {
  std::string why;
  if (Uring::open(why) == nullptr) fail(why);
  return "storage `uring`, checkpoint.write: uring";
}

std::string fuse() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0)
    fail(fmt::format("/dev/fuse: {}", std::strerror(errno)));
  return "stoker mount";
}

std::string cpu_bf16() {
  if (!cpu_has_bf16_kernels()) fail(kNoBf16Kernels);
  return "training.precision: bf16 on the CPU";
}

}  // namespace

std::vector<OptionalPart> optional_parts() {
  return {part("driver", cuda_driver_version),
          part("libtorch_cuda", torch_cuda),
          part("stoker_cuda", [] { return cuda_plugin("stoker_cuda"); }),
          part("stoker_nccl", [] { return cuda_plugin("stoker_nccl"); }),
          part("nvjpeg", nvjpeg),
          part("stoker_opencv", opencv_plugin),
          part("stoker_hdf5", hdf5),
          part("stoker_parquet", parquet),
          part("io_uring", uring),
          part("fuse", fuse),
          part("cpu_bf16", cpu_bf16)};
}

}  // namespace stoker
