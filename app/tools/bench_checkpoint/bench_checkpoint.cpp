#include "app/tools/bench_checkpoint/bench_checkpoint.h"

#include <memory>

#include "app/base/progress_line.h"
#include "app/process/stop_signal.h"
#include "io/core/threads.h"

namespace stoker {

template <>
Registry<CheckpointBench>& Registry<CheckpointBench>::global() {
  static Registry registry;
  return registry;
}

ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments) {
  const StopSignal stop;
  const Interruptible scope(stop.token());
  try {
    if (!arguments.shape.empty()) return bench_shape(arguments);
    return default_component<CheckpointBench>("configured").create({arguments})->run();
  } catch (const Interrupted&) {
    print_note("stopped: nothing is reported");
    return stop.exit_code();
  }
}

}  // namespace stoker
