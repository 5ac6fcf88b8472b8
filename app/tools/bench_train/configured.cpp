#include "app/base/progress_line.h"
#include "app/experiment/experiment_options.h"
#include "app/tools/bench/loader.h"
#include "app/tools/bench_checkpoint/bench_checkpoint.h"
#include "app/tools/bench_train/checkpoint/checkpoint.h"

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

// The state of the experiment's own model.
class ConfiguredState final : public CheckpointBench {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  ConfiguredState(Options, const Inputs& inputs) : arguments_(inputs.arguments) {}

  ExitCode run() override { return bench_model_checkpoint(arguments_); }

 private:
  const CheckpointBenchArguments& arguments_;
};

STOKER_REGISTER(CheckpointBench, "configured", ConfiguredState);

}  // namespace
}  // namespace stoker
