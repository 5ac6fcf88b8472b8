#include <torch/nn/modules/linear.h>

#include "models/networks/network.h"

namespace {

using namespace stoker;

// Logistic regression on the mean of each colour.
class ChannelMeans final : public Network {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  ChannelMeans(Options, const Inputs& inputs)
      : fc_(register_module("fc", torch::nn::Linear(inputs.channels, inputs.classes))) {}

  at::Tensor forward(at::Tensor x) override { return fc_(x.mean({2, 3})); }

 private:
  torch::nn::Linear fc_;
};

STOKER_REGISTER(Model, "channel_means", ChannelMeans);

}  // namespace
