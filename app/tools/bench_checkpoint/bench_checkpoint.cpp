#include "app/tools/bench_checkpoint/bench_checkpoint.h"

#include <memory>

namespace stoker {

template <>
Registry<CheckpointBench>& Registry<CheckpointBench>::global() {
  static Registry registry;
  return registry;
}

ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments) {
  if (!arguments.shape.empty()) return bench_shape(arguments);
  return default_component<CheckpointBench>("configured").create({arguments})->run();
}

}  // namespace stoker
