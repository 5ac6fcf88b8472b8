#include "models/networks/model.h"

#include <fmt/format.h>

#include <utility>

#include "io/core/error.h"
#include "models/networks/network.h"

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

std::vector<NamedTensor> Network::state() const {
  std::vector<NamedTensor> state;
  for (const auto& item : named_parameters()) state.push_back({item.key(), item.value(), true});
  for (const auto& item : named_buffers()) state.push_back({item.key(), item.value(), false});
  return state;
}

void Network::set_training(bool on) { train(on); }

void Network::place(at::Device device, at::MemoryFormat format) {
  to(device);
  for (at::Tensor& p : torch::nn::Module::parameters()) {
    if (p.dim() == 4) p.set_data(p.detach().contiguous(format));
  }
}

}  // namespace stoker
