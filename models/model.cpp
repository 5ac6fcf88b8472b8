#include "models/model.h"

#include <fmt/format.h>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<Model>& Registry<Model>::global() {
  static Registry registry;
  return registry;
}

void require_image_size(const char* model, const Model::Inputs& inputs, int64_t smallest) {
  if (inputs.height >= smallest && inputs.width >= smallest) return;
  throw Error(ExitCode::config,
              fmt::format("model: {} needs images of at least {} x {} pixels, got {} x {}: raise "
                          "decoder.size",
                          model, smallest, smallest, inputs.height, inputs.width));
}

}  // namespace stoker
