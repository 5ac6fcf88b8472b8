#include "io/device/step_graph.h"

#include "io/core/error.h"

namespace stoker {

template <>
Registry<StepGraph>& Registry<StepGraph>::global() {
  static Registry registry;
  return registry;
}

std::unique_ptr<StepGraph> make_step_graph(at::Device device) {
  if (!device.is_cuda()) {
    throw Error(ExitCode::config,
                "training.cuda_graph: needs a GPU, and the device of this run is " + device.str() +
                    ": set device.type=cuda to be told why there is none, or leave "
                    "training.cuda_graph out");
  }
  if (Registry<StepGraph>::global().find("cuda_graph") == nullptr) {
    throw Error(ExitCode::device,
                "device: training.cuda_graph needs the plug-in stoker_cuda.so beside the program, "
                "which is built where a CUDA toolkit is found (-DSTOKER_CUDA=ON); without it leave "
                "training.cuda_graph out");
  }
  return default_component<StepGraph>("cuda_graph").create({device});
}

}  // namespace stoker
