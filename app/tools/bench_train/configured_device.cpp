#include "app/base/progress_line.h"
#include "app/experiment/experiment_options.h"
#include "app/tools/bench/bench_device.h"

namespace stoker {
namespace {

class ConfiguredDevice final : public BenchDevice {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  ConfiguredDevice(Options, const Inputs& inputs)
      : ConfiguredDevice(read_experiment(inputs.config, inputs.overrides, {})) {}

  LoaderUse use() override { return {.allocate = device_->allocator(), .device = device_.get()}; }
  std::string name() const override { return device_->info().name; }

 private:
  explicit ConfiguredDevice(const ExperimentOptions& options)
      : device_(options.device.create({options.run.seed, print_note, 0, &exchange_})) {}

  StepExchange exchange_;
  const std::unique_ptr<Device> device_;
};

STOKER_REGISTER(BenchDevice, "configured", ConfiguredDevice);

}  // namespace
}  // namespace stoker
