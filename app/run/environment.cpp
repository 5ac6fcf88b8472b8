#include "app/run/environment.h"

#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/base/result_table.h"
#include "app/experiment/experiment_options.h"
#include "app/process/provenance.h"
#include "io/core/config/part_check.h"
#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/device/cuda_library.h"
#include "io/device/frame_upload.h"
#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir,
                                    int64_t threads) {
  nlohmann::json out = describe_machine(run_dir);
  out["schema_version"] = 1;
  out["device"] = {{"name", device.name},
                   {"emulated", device.emulated},
                   {"timing_method", device.timing_method}};
  out["threads"] = threads;
  out["command"] = command_line();
  return out;
}

ExitCode print_environment(const EnvironmentArguments& arguments) {
  nlohmann::json out = describe_machine(".");
  ResultTable machine;
  machine.put({"", "program"}, version_line());
  machine.put({"", "system"},
              out["system"].get<std::string>() + ", " + out["kernel"].get<std::string>());
  machine.put({"", "host"}, out["host"].get<std::string>());
  machine.put({"", "cpu"}, out["cpu"]["model"].get<std::string>());
  machine.put({"", "usable cores"}, out["cpu"]["cores"].get<int64_t>());
  machine.put({"", "memory, GiB", 1}, out["memory_bytes"].get<double>() / (1 << 30));
  machine.put({"", "file system"}, out["file_system"].get<std::string>());
  ResultTable parts({{"name", "part"}, {"works", "works"}, {"detail", "what, or why not"}});
  for (const OptionalPart& part : optional_parts()) parts.add({part.name, part.works, part.detail});
  out["gpus"] = cuda_devices();
  for (const nlohmann::json& gpu : out["gpus"]) machine.put({"", "gpu"}, gpu.get<std::string>());
  out["parts"] = parts.json();
  return print_result(arguments.json, out, machine.record_text(0) + "\n" + parts.text(), 2);
}

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

namespace {

constexpr size_t kAlignment = 64;  // as LibTorch's own allocator has it

// The block that malloc gave begins at most kAlignment bytes before the tensor's memory. Its
// address lies in front of that memory, for malloc aligns to 16 bytes.
void* allocate_tensor(size_t bytes) {
  auto* const block = static_cast<std::byte*>(std::malloc(bytes + kAlignment));
  if (block == nullptr) throw std::bad_alloc();
  const size_t past = reinterpret_cast<uintptr_t>(block) % kAlignment;
  std::byte* const memory = block + (kAlignment - past);
  reinterpret_cast<void**>(memory)[-1] = block;
  return memory;
}

void free_tensor(void* memory) {
  if (memory != nullptr) std::free(static_cast<void**>(memory)[-1]);
}

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const memory = bytes == 0 ? nullptr : allocate_tensor(bytes);
    return {memory, memory, &free_tensor, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_tensor; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void keep_freed_heap() {
#ifdef __GLIBC__
  // Without these, each large block is a mapping of its own, which goes back to the kernel when the
  // block is freed, and the top of the heap is trimmed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

void reuse_freed_tensors() {
  static TensorAllocator allocator;
  c10::SetCPUAllocator(&allocator);
}

}  // namespace stoker
