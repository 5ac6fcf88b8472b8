#include "models/networks/model.h"

#include <fmt/format.h>

#include <utility>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<Model>& Registry<Model>::global() {
  static Registry registry;
  return registry;
}

std::vector<at::Tensor> parameters(const Model& model) {
  std::vector<at::Tensor> trained;
  for (NamedTensor& item : model.state()) {
    if (item.trained) trained.push_back(std::move(item.tensor));
  }
  return trained;
}

void require_image_size(const char* model, const Model::Inputs& inputs, int64_t smallest) {
  if (inputs.height >= smallest && inputs.width >= smallest) return;
  throw Error(ExitCode::config,
              fmt::format("model: {} needs images of at least {} x {} pixels, got {} x {}: raise "
                          "decoder.size",
                          model, smallest, smallest, inputs.height, inputs.width));
}

}  // namespace stoker
