#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "models/networks/network.h"

namespace stoker {
namespace {

// Two convolutions of 5 x 5 with ReLU and pooling by 2, and one fully connected layer: the network
// for byte code as grey images of Chien et al., "tf-Darshan" (CLUSTER 2020), which names two
// convolutions and does not list the layers.
class TwoLayerCnn final : public Network {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  TwoLayerCnn(Options, const Inputs& inputs) {
    namespace nn = torch::nn;
    require_image_size("two_layer_cnn", inputs, 4);
    const auto conv = [](int64_t in, int64_t out) {
      return nn::Conv2d(nn::Conv2dOptions(in, out, 5).padding(2));
    };
    const auto relu = [] { return nn::ReLU(nn::ReLUOptions(true)); };
    const auto pool = [] { return nn::MaxPool2d(nn::MaxPool2dOptions(2)); };
    features_ =
        register_module("features", nn::Sequential(conv(inputs.channels, kFirst), relu(), pool(),
                                                   conv(kFirst, kSecond), relu(), pool()));
    const int64_t pixels = (inputs.height / 2 / 2) * (inputs.width / 2 / 2);
    classifier_ = register_module("classifier", nn::Linear(kSecond * pixels, inputs.classes));
  }

  at::Tensor forward(at::Tensor x) override {
    return classifier_->forward(features_->forward(x).flatten(1));
  }

 private:
  static constexpr int64_t kFirst = 32, kSecond = 64;
  torch::nn::Sequential features_{nullptr};
  torch::nn::Linear classifier_{nullptr};
};

STOKER_REGISTER(Model, "two_layer_cnn", TwoLayerCnn);

}  // namespace
}  // namespace stoker
