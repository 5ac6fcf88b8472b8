#include <utility>

#include "io/core/system/memory.h"
#include "io/core/system/usable_cores.h"
#include "io/device/device.h"

namespace stoker {
namespace {

// The trainer's own thread is the device: batches are used where they lie, and work runs at once.
class Cpu final : public Device {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    DeviceInfo info() const { return {"", at::kCPU, false, false, "host", false}; }
  };
  Cpu(Options options, const Inputs&) : info_(options.info()) { info_.name = cpu_name(); }

  const DeviceInfo& info() const override { return info_; }
  // Faulted in, so that the first batch is not slower than the others.
  HostMemory allocate(size_t bytes) override { return allocate_huge(bytes, true); }
  DeviceBatch copy(const Batch& batch, const SampleSpec& spec) override {
    return view_batch(batch, spec);
  }

  void run(const DeviceBatch*, const std::function<void()>& work) override {
    const TimePoint start = Clock::now();
    work();
    finished_.push_back({start, start, Clock::now(), {}});
  }

  std::vector<BusyInterval> collect(bool) override { return std::exchange(finished_, {}); }

 private:
  DeviceInfo info_;
  std::vector<BusyInterval> finished_;
};

STOKER_REGISTER(Device, "cpu", Cpu);

}  // namespace
}  // namespace stoker
