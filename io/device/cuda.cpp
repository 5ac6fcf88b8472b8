#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/device/cuda_library.h"
#include "io/device/stream_device.h"

namespace stoker {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(ExitCode::device, "device: cuda: " + what);
}

std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

// LibTorch's errors that are the device's; all others pass, for they are bugs.
template <class F>
auto guarded(F&& f) {
  try {
    return f();
  } catch (const c10::OutOfMemoryError& error) {
    fail("out of memory; lower loader.batch_size or loader.device_batches (" + first_line(error) +
         ")");
  } catch (const c10::AcceleratorError& error) {
    fail(first_line(error));
  }
}

// Pinned, from LibTorch's caching allocator.
HostMemory allocate_pinned(size_t bytes) {
  auto memory = std::make_shared<at::DataPtr>(
      at::getHostAllocator(c10::DeviceType::CUDA)->allocate(bytes == 0 ? 1 : bytes));
  auto* const data = static_cast<uint8_t*>(memory->get());
  return {std::shared_ptr<uint8_t>(std::move(memory), data), bytes, true};
}

// The plug-in with the kernels of our own, which is there where a CUDA toolkit was when stoker was
// built.
void load_kernels(const Notify& notify) {
  const std::string path = plugin_beside_library("stoker_cuda");
  if (std::filesystem::exists(path)) return load_plugin(path);
  notify("device: cuda: there is no " + path +
         ": LibTorch's operators normalise, and decoder.on_device cannot be used");
}

std::unique_ptr<FrameDecoder> make_frame_decoder() {
  if (Registry<FrameDecoder>::global().find("nvjpeg") == nullptr) {
    fail(
        "decoder.on_device: decode needs the plug-in stoker_cuda.so, which is built where a CUDA "
        "toolkit is found; set decoder.on_device=nothing");
  }
  return default_component<FrameDecoder>("nvjpeg").create({});
}

// Longer than a launch takes, and short enough for a step that waits for its own device.
constexpr std::chrono::milliseconds kPatience{50};

bool hold_stream(const c10::Stream& stream, std::binary_semaphore& gate) {
  const auto pass = [](void* semaphore) {
    static_cast<void>(static_cast<std::binary_semaphore*>(semaphore)->try_acquire_for(kPatience));
  };
  return call_on_stream(stream.native_handle(), pass, &gate);
}

class Cuda final : public Device {
 public:
  struct Options {
    std::optional<int64_t> index;
    int64_t queue_depth = 2;
    template <class V>
    void visit(V& v) {
      v("index", index,
        "Which of the GPUs that CUDA_VISIBLE_DEVICES leaves. Without it each rank takes its own.",
        Limits{0, 127});
      v("queue_depth", queue_depth,
        same_results("How many steps may be outstanding before the host blocks."), Limits{1, 1024});
    }
  };

  Cuda(Options options, const Inputs& inputs) {
    if (const auto problem = load_cuda()) fail(*problem + "; use device.type=cpu or emulated");
    const int64_t count = c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount();
    // Where the launcher leaves each rank one GPU, all of them are 0.
    const int64_t index = options.index.value_or(inputs.local_rank % std::max<int64_t>(count, 1));
    if (index >= count) {
      fail("there is no GPU " + std::to_string(index) + "; device.index must be below " +
           std::to_string(count));
    }
    const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(index));
    device_ = guarded([&] {
      at::globalContext().lazyInitDevice(at::kCUDA);
      return make_stream_device({cuda_device_name(index), device, false, true, "events", true},
                                options.queue_depth, allocate_pinned, make_frame_decoder,
                                hold_stream);
    });
    // Before anything else runs that could use it: loading is not thread-safe.
    load_kernels(inputs.notify);
  }

  const DeviceInfo& info() const override { return device_->info(); }
  HostMemory allocate(size_t bytes) override {
    return guarded([&] { return device_->allocate(bytes); });
  }
  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    return guarded([&] { return device_->copy(batch, spec); });
  }
  void run(const DeviceBatch* batch, const std::function<void()>& work) override {
    guarded([&] { device_->run(batch, work); });
  }
  std::vector<BusyInterval> collect(bool wait) override {
    return guarded([&] { return device_->collect(wait); });
  }

 private:
  std::unique_ptr<Device> device_;
};

STOKER_REGISTER(Device, "cuda", Cuda);

}  // namespace
}  // namespace stoker
