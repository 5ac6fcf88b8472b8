#include <ATen/ops/adaptive_avg_pool2d.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include "models/networks/network.h"

namespace stoker {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding));
}

nn::ReLU relu() { return nn::ReLU(nn::ReLUOptions(true)); }

nn::MaxPool2d pool() { return nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)); }

// How weights begin.
enum class Init { torchvision, lecun };
EnumNames<Init> enum_names(Init) {
  return {{"torchvision", Init::torchvision}, {"lecun", Init::lecun}};
}

// The single-tower AlexNet of Krizhevsky, "One weird trick for parallelizing convolutional neural
// networks" (arXiv:1404.5997, 2014), laid out, named and initialised as torchvision's.
class AlexNet final : public Network {
 public:
  struct Options {
    double dropout = 0.5;
    Init init = Init::torchvision;
    template <class V>
    void visit(V& v) {
      v("dropout", dropout, "Dropout: the probability that an input of fc1 or fc2 is set to zero.",
        Limits{0, 1});
      v("init", init,
        "How weights begin. torchvision: uniform within 1 / sqrt(inputs). lecun: normal with a "
        "standard deviation of 1 / sqrt(inputs), and biases of 0 (LeCun et al. 1998, Efficient "
        "BackProp, section 4.6).");
    }
  };
  AlexNet(Options options, const Inputs& inputs) {
    require_image_size("alexnet", inputs, kSmallest);
    features_ = register_module(
        "features", nn::Sequential(conv(inputs.channels, 64, 11, 4, 2), relu(), pool(),  //
                                   conv(64, 192, 5, 1, 2), relu(), pool(),               //
                                   conv(192, 384, 3, 1, 1), relu(), conv(384, 256, 3, 1, 1), relu(),
                                   conv(256, 256, 3, 1, 1), relu(), pool()));
    classifier_ = register_module(
        "classifier",
        nn::Sequential(nn::Dropout(options.dropout), nn::Linear(256 * kGrid * kGrid, 4096), relu(),
                       nn::Dropout(options.dropout), nn::Linear(4096, 4096), relu(),
                       nn::Linear(4096, inputs.classes)));
    if (options.init == Init::lecun) begin_as_lecun();
  }

  at::Tensor forward(at::Tensor x) override {
    x = at::adaptive_avg_pool2d(features_->forward(x), {kGrid, kGrid});
    return classifier_->forward(x.flatten(1));
  }

 private:
  static constexpr int64_t kGrid = 6;       // the classifier's input, whatever the image size
  static constexpr int64_t kSmallest = 63;  // the last pooling then still has a whole window
  // Half of the squares are lost at each ReLU; the largest of nine, which pooling takes, and
  // dropout's factor make up for it. He's factor of 2 on top makes the first steps too large.
  void begin_as_lecun() {
    for (at::Tensor& parameter : parameters()) {
      if (parameter.dim() == 1) {
        nn::init::zeros_(parameter);
      } else {
        nn::init::kaiming_normal_(parameter, 0, torch::kFanIn, torch::kLinear);
      }
    }
  }

  nn::Sequential features_{nullptr};
  nn::Sequential classifier_{nullptr};
};

STOKER_REGISTER(Model, "alexnet", AlexNet);

}  // namespace
}  // namespace stoker
