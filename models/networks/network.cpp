#include "models/networks/network.h"

namespace stoker {

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
