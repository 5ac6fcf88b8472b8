#include <torch/nn/modules/linear.h>

#include "models/networks/network.h"

namespace stoker {
namespace {

// Multinomial logistic regression on the pixels: the step that costs next to nothing, for
// measurements of loading and for tests.
class Linear final : public Network {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Linear(Options, const Inputs& inputs)
      : fc_(register_module("fc", torch::nn::Linear(inputs.channels * inputs.height * inputs.width,
                                                    inputs.classes))) {}

  at::Tensor forward(at::Tensor x) override { return fc_(x.flatten(1)); }

 private:
  torch::nn::Linear fc_;
};

STOKER_REGISTER(Model, "linear", Linear);

}  // namespace
}  // namespace stoker
