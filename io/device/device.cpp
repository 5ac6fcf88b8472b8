#include "io/device/device.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <utility>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<Device>& Registry<Device>::global() {
  static Registry registry;
  return registry;
}

template <>
Registry<StepGraph>& Registry<StepGraph>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<StepGraph> make_step_graph(at::Device device) {
  if (!device.is_cuda()) {
    throw Error(ExitCode::config,
                "training.cuda_graph: needs a GPU, and the device of this run is " + device.str() +
                    ": set device.type=cuda to be told why there is none, or leave "
                    "training.cuda_graph out");
  }
  if (Registry<StepGraph>::global().find("cuda_graph") == nullptr) {
    throw Error(ExitCode::device,
                "device: training.cuda_graph needs the plug-in stoker_cuda.so beside the program, "
                "which is built where a CUDA toolkit is found (-DSTOKER_CUDA=ON); without it leave "
                "training.cuda_graph out");
  }
  return default_component<StepGraph>("cuda_graph").create({device});
}

BatchLayout batch_layout(int64_t size, const SampleSpec& spec) {
  if (spec.frame != 0 || spec.target != 0) {
    return {{size, static_cast<int64_t>(spec.bytes()), 1, 1}, at::kByte};
  }
  if (spec.type == PixelType::float32) {
    return {{size, spec.channels, spec.height, spec.width}, at::kFloat};
  }
  return {{size, spec.height, spec.width, spec.channels}, at::kByte};
}

DeviceBatch view_batch(const Batch& batch, const SampleSpec& spec) {
  DeviceBatch result;
  result.host = batch;
  result.host.on_device = nullptr;
  const auto keep_pixels = [pixels = batch.pixels](void*) {};
  const auto keep_labels = [labels = batch.labels](void*) {};
  const BatchLayout layout = batch_layout(batch.size, spec);
  result.images =
      at::from_blob(batch.pixels.get(), layout.shape, keep_pixels, at::TensorOptions(layout.type));
  result.labels =
      at::from_blob(batch.labels->data(), {batch.size}, keep_labels, at::TensorOptions(at::kLong));
  return result;
}

DeviceBatch without_slot(const Batch& batch) {
  DeviceBatch result;
  result.host = batch;
  result.host.on_device = nullptr;
  result.host.pixels = nullptr;
  return result;
}

DeviceBatch shapes_of(const Batch& batch, const SampleSpec& spec) {
  DeviceBatch result = without_slot(batch);
  const at::TensorOptions meta(at::kMeta);
  const BatchLayout layout = batch_layout(batch.size, spec);
  result.images = at::empty(layout.shape, meta.dtype(layout.type));
  result.labels = at::empty({batch.size}, meta.dtype(at::kLong));
  return result;
}

namespace {

// The bytes of a contiguous tensor as a tensor of bytes.
at::Tensor as_bytes(const at::Tensor& tensor) { return tensor.detach().view({-1}).view(at::kByte); }

class StreamCopies final : public DeviceCopies {
 public:
  StreamCopies(at::Device device, std::vector<at::Tensor> tensors)
      : guard_(device.type()),
        stream_(guard_.getStreamFromGlobalPool(device)),
        work_(guard_.getStream(device)),
        end_(device.type()),
        tensors_(std::move(tensors)) {}

  void start(std::span<const CopyTarget> targets) override {
    const at::NoGradGuard no_grad;
    c10::Event begin(stream_.device_type());
    begin.record(work_);
    begin.block(stream_);
    const c10::StreamGuard on_stream(stream_);
    for (const CopyTarget& target : targets) {
      const auto bytes = static_cast<int64_t>(target.bytes);
      const at::Tensor from =
          as_bytes(tensors_[target.tensor]).narrow(0, static_cast<int64_t>(target.begin), bytes);
      at::from_blob(target.to, {bytes}, at::TensorOptions(at::kByte)).copy_(from, true);
    }
    end_.record(stream_);
  }
  void fence() override { end_.block(work_); }
  void wait() override { end_.synchronize(); }

 private:
  const c10::impl::VirtualGuardImpl guard_;
  const c10::Stream stream_;
  const c10::Stream work_;
  c10::Event end_;
  const std::vector<at::Tensor> tensors_;
};

}  // namespace

std::shared_ptr<DeviceCopies> make_device_copies(at::Device device,
                                                 std::vector<at::Tensor> tensors) {
  return std::make_shared<StreamCopies>(device, std::move(tensors));
}

}  // namespace stoker
