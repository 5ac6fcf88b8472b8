#include <torch/nn/modules/linear.h>

#include "models/model.h"

namespace {

using namespace stoker;

// Logistic regression on the mean of each colour.
class ChannelMeans final : public Model {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  ChannelMeans(Options, const Inputs& inputs)
      : fc_(register_module("fc", torch::nn::Linear(inputs.channels, inputs.classes))) {}

  torch::Tensor forward(torch::Tensor x) override { return fc_(x.mean({2, 3})); }

 private:
  torch::nn::Linear fc_;
};

STOKER_REGISTER(Model, "channel_means", ChannelMeans);

}  // namespace
