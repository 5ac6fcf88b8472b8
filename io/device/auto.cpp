#include "io/device/cuda_library.h"
#include "io/device/device.h"

namespace stoker {
namespace {

// cuda where it can be used, else cpu; says which, and why.
class Auto final : public Device {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Auto(Options, const Inputs& inputs) {
    const std::optional<std::string> problem = load_cuda();
    device_ = default_component<Device>(problem ? "cpu" : "cuda").create(inputs);
    inputs.notify("device: auto: " + info().name + (problem ? "; " + *problem : ""));
  }

  const DeviceInfo& info() const override { return device_->info(); }
  HostMemory allocate(size_t bytes) override { return device_->allocate(bytes); }
  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    return device_->copy(batch, spec);
  }
  void run(const DeviceBatch* batch, const std::function<void()>& work) override {
    device_->run(batch, work);
  }
  std::vector<BusyInterval> collect(bool wait) override { return device_->collect(wait); }

 private:
  std::unique_ptr<Device> device_;
};

STOKER_REGISTER(Device, "auto", Auto);

}  // namespace
}  // namespace stoker
