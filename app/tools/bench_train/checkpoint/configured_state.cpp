#include "app/tools/bench_checkpoint/bench_checkpoint.h"
#include "app/tools/bench_train/checkpoint/checkpoint.h"

namespace stoker {
namespace {

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
