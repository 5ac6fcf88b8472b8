#include "io/device/device_copies.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <utility>

namespace stoker {
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
