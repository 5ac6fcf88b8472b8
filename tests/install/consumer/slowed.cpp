// A device: another one whose steps take longer.
#include <chrono>
#include <thread>

#include "io/device/device.h"

namespace {

using namespace stoker;

class Slowed final : public Device {
 public:
  struct Options {
    Component<Device> inner = default_component<Device>("cpu");
    double ms = 1;
    template <class V>
    void visit(V& v) {
      v("inner", inner, "the device that computes");
      v("ms", ms, same_results("added to each step"), Limits{0, 1000});
    }
  };
  Slowed(const Options& options, const Inputs& inputs)
      : inner_(options.inner.create(inputs)), pause_(options.ms) {}

  const DeviceInfo& info() const override { return inner_->info(); }
  HostMemory allocate(size_t bytes) override { return inner_->allocate(bytes); }
  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    return inner_->copy(batch, spec);
  }
  void run(const DeviceBatch* batch, const std::function<void()>& work) override {
    inner_->run(batch, [&] {
      std::this_thread::sleep_for(pause_);
      work();
    });
  }
  std::vector<BusyInterval> collect(bool wait) override { return inner_->collect(wait); }

 private:
  const std::unique_ptr<Device> inner_;
  const std::chrono::duration<double, std::milli> pause_;
};

STOKER_REGISTER(Device, "slowed", Slowed);

}  // namespace
