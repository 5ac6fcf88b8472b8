#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <string>

#include "io/core/error.h"
#include "io/device/cuda/kernels.h"
#include "io/device/input_transform.h"

namespace stoker {
namespace {

// One kernel from what was copied to what the model takes, on the stream of the step.
class CudaKernels final : public InputTransform {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  CudaKernels(Options, const Inputs& inputs) : inputs_(inputs), guard_(inputs.device.type()) {}

  at::Tensor operator()(const DeviceBatch& batch) const override {
    const c10::DeviceGuard on_device(inputs_.device);
    const SampleSpec& spec = inputs_.spec;
    const int64_t count = spec.frame != 0 ? batch.host.size : batch.images.size(0);
    const auto format =
        inputs_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    at::Tensor values = at::empty({count, 3, spec.height, spec.width},
                                  at::TensorOptions(inputs_.type).device(inputs_.device), format);
    const ValueBatch out{values.mutable_data_ptr(), inputs_.type == at::kBFloat16,
                         inputs_.channels_last};
    const at::Tensor images = batch.images.contiguous();
    const auto* bytes = images.const_data_ptr<uint8_t>();
    void* stream = guard_.getStream(inputs_.device).native_handle();
    const char* problem =
        spec.frame != 0 ? launch_resize(bytes, count, spec.height, out, stream)
                        : launch_normalise(bytes, count, spec.height * spec.width, out, stream);
    if (problem == nullptr) return values;
    throw Error(ExitCode::device,
                std::string("device: cuda: a kernel of stoker_cuda.so could not be "
                            "launched: ") +
                    problem);
  }

 private:
  const Inputs inputs_;
  const c10::impl::VirtualGuardImpl guard_;
};

STOKER_REGISTER(InputTransform, "cuda_kernels", CudaKernels);

}  // namespace
}  // namespace stoker
