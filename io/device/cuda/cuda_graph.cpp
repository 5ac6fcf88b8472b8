#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <optional>
#include <string>

#include "io/core/error.h"
#include "io/device/device.h"

namespace stoker {
namespace {

[[noreturn]] void fail(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  throw Error(ExitCode::device,
              "device: cuda: training.cuda_graph: this model's step cannot be captured, perhaps "
              "because it waits for the device or copies from the host (" +
                  text.substr(0, text.find('\n')) + "); leave training.cuda_graph out");
}

// LibTorch's own, with a memory pool of its own. LibTorch registers the default generator with it,
// so that dropout draws other numbers in every replay.
class CudaGraph final : public StepGraph {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  CudaGraph(Options, const Inputs& inputs)
      : device_(inputs.device),
        guard_(device_.type()),
        // The default stream cannot be captured; what is captured here is replayed on any.
        side_(guard_.getStreamFromGlobalPool(device_)) {}

  void capture(const std::function<void()>& work) override {
    const c10::DeviceGuard on_device(device_);
    guard_.getStream(device_).synchronize();
    graph_.emplace();
    const c10::StreamGuard on_side(side_);
    try {
      // It captures this thread only. The loader's thread goes on to allocate and to ask for events
      // meanwhile, and the stricter mode forbids this to the whole process.
      graph_->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      work();
      graph_->capture_end();
    } catch (const c10::OutOfMemoryError&) {
      abandon();
      throw;
    } catch (const c10::Error& error) {
      abandon();
      fail(error);
    } catch (...) {
      abandon();
      throw;
    }
  }

  void replay() override { graph_->replay(); }

 private:
  // Ends what was begun, so that the stream can be used again; it fails where it has ended.
  void abandon() {
    try {
      graph_->capture_end();
    } catch (const c10::Error&) {
      return;
    }
  }

  const at::Device device_;
  const c10::impl::VirtualGuardImpl guard_;
  const c10::Stream side_;
  std::optional<at::cuda::CUDAGraph> graph_;  // its constructor asks for the current device
};

STOKER_REGISTER(StepGraph, "cuda_graph", CudaGraph);

}  // namespace
}  // namespace stoker
