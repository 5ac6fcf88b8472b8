#include <ATen/ops/dropout.h>
#include <ATen/ops/max_pool2d.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <string>
#include <vector>

#include "models/networks/network.h"

namespace stoker {
namespace {

namespace nn = torch::nn;

// HEPCNNB, the benchmark of high energy physics that NERSC made of Kurth et al., "Deep Learning at
// 15PF" (arXiv:1708.05256, section III-A): four convolutions of 3 x 3 with ReLU, pooling by 2 and
// dropout, a fifth without, the mean of each feature map, and one fully connected layer. Padding is
// TensorFlow's SAME, which pools an odd last row, too.
class HepCnnB final : public Network {
 public:
  struct Options {
    double dropout = 0.5;
    template <class V>
    void visit(V& v) {
      v("dropout", dropout, "Dropout: the probability that a value after a pooling is set to zero.",
        Limits{0, 1});
    }
  };
  HepCnnB(Options options, const Inputs& inputs) : dropout_(options.dropout) {
    int64_t channels = inputs.channels;
    for (int i = 1; i <= kPooled + 1; ++i, channels = kFilters) {
      auto layer = nn::Conv2d(nn::Conv2dOptions(channels, kFilters, 3).padding(1));
      convs_.push_back(register_module("conv" + std::to_string(i), he_normal(layer)));
    }
    fc_ = register_module("fc1", he_normal(nn::Linear(kFilters, inputs.classes)));
  }

  at::Tensor forward(at::Tensor x) override {
    for (size_t i = 0; i < kPooled; ++i) {
      x = at::max_pool2d(convs_[i]->forward(x).relu_(), {2, 2}, {2, 2}, {0, 0}, {1, 1},
                         /*ceil_mode=*/true);
      x = at::dropout(x, dropout_, is_training());
    }
    return fc_(convs_[kPooled]->forward(x).relu_().mean({2, 3}));
  }

 private:
  static constexpr int kPooled = 4;
  static constexpr int64_t kFilters = 128;

  template <class Layer>
  static Layer he_normal(Layer layer) {
    nn::init::kaiming_normal_(layer->weight, 0, torch::kFanIn, torch::kReLU);
    nn::init::zeros_(layer->bias);
    return layer;
  }

  const double dropout_;
  std::vector<nn::Conv2d> convs_;
  nn::Linear fc_{nullptr};
};

STOKER_REGISTER(Model, "hepcnnb", HepCnnB);

}  // namespace
}  // namespace stoker
