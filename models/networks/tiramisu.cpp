#include <ATen/ops/cat.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/dropout.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>

#include <memory>
#include <string>
#include <vector>

#include "models/networks/network.h"

namespace stoker {
namespace {

namespace nn = torch::nn;

template <class Layer>
Layer he_uniform(Layer layer) {
  nn::init::kaiming_uniform_(layer->weight, 0, torch::kFanIn, torch::kReLU);
  nn::init::zeros_(layer->bias);
  return layer;
}

nn::Conv2d he_conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return he_uniform(
      nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2)));
}

struct TiramisuOptions {
  std::vector<int64_t> layers{3, 3, 4, 4, 7, 7, 10};
  int64_t growth = 16;
  int64_t filters = 48;
  double dropout = 0.2;
  template <class V>
  void visit(V& v) {
    v("layers", layers,
      "Number of convolutions in each dense block on the way down. The last block is the bottom. "
      "The way up has the others in reverse.",
      Limits{1, 100});
    v("growth", growth, "Number of feature maps that each of these convolutions adds.",
      Limits{1, 4096});
    v("filters", filters, "Number of feature maps of the first convolution.", Limits{1, 4096});
    v("dropout", dropout, "Dropout: the probability that a value after a ReLU is set to zero.",
      Limits{0, 1});
  }
  void check(const Section& section) const {
    if (layers.size() < 2) section.fail("layers", "must have two blocks or more");
  }
  TargetInfo info() const { return {true}; }
};

// Convolutions of 3 x 3 that each see the input and what all before them have made.
class DenseBlock final : public nn::Module {
 public:
  DenseBlock(int64_t in, int64_t layers, const TiramisuOptions& options)
      : dropout_(options.dropout) {
    for (int64_t i = 0; i < layers; ++i, in += options.growth) {
      convs_.push_back(register_module("conv" + std::to_string(i), he_conv(in, options.growth, 3)));
    }
  }

  // With the input, and without.
  struct Maps {
    at::Tensor all;
    at::Tensor added;
  };
  Maps forward(const at::Tensor& x) {
    std::vector<at::Tensor> maps{x};
    for (nn::Conv2d& layer : convs_) {
      const at::Tensor seen = maps.size() == 1 ? x : at::cat(maps, 1);
      maps.push_back(at::dropout(layer(seen).relu_(), dropout_, is_training()));
    }
    const at::Tensor added = at::cat(at::TensorList(maps).slice(1), 1);
    return {at::cat({x, added}, 1), added};
  }

 private:
  const double dropout_;
  std::vector<nn::Conv2d> convs_;
};

// The Tiramisu of the climate benchmark (Kurth et al., "Exascale Deep Learning for Climate
// Analytics", arXiv:1810.01993, section IV-A) after Jegou et al. (arXiv:1611.09326): dense blocks
// down to a bottom and up again, beside which the maps of each size go across. A block is followed
// by a convolution of 1 x 1 with stride 2 instead of a pooling; on the way up, what the block below
// has added goes through a transposed convolution. No batch normalisation.
class Tiramisu final : public Network {
 public:
  using Options = TiramisuOptions;
  Tiramisu(const Options& options, const Inputs& inputs) : dropout_(options.dropout) {
    first_ = register_module("first", he_conv(inputs.channels, options.filters, 3));
    int64_t maps = options.filters;
    std::vector<int64_t> across;
    for (size_t i = 0; i < options.layers.size(); ++i) {
      const std::string number = std::to_string(i);
      down_.push_back(add_block("down" + number, maps, options.layers[i], options));
      maps += options.layers[i] * options.growth;
      if (i + 1 == options.layers.size()) break;
      across.push_back(maps);
      shrink_.push_back(register_module("shrink" + number, he_conv(maps, maps, 1, 2)));
    }
    for (size_t i = across.size(); i-- > 0;) {
      const std::string number = std::to_string(i);
      const int64_t added = options.layers[i + 1] * options.growth;
      auto layer = nn::ConvTranspose2d(nn::ConvTranspose2dOptions(added, added, 3));
      grow_.push_back(register_module("grow" + number, he_uniform(layer)));
      up_.push_back(add_block("up" + number, added + across[i], options.layers[i], options));
      maps = added + across[i] + options.layers[i] * options.growth;
    }
    last_ = register_module("last", he_conv(maps, inputs.classes, 1));
  }

  at::Tensor forward(at::Tensor x) override {
    DenseBlock::Maps maps{activate(first_(x)), {}};
    std::vector<at::Tensor> across;
    for (size_t i = 0; i < down_.size(); ++i) {
      maps = down_[i]->forward(i == 0 ? maps.all : activate(shrink_[i - 1](maps.all)));
      across.push_back(maps.all);
    }
    across.pop_back();
    for (size_t i = 0; i < up_.size(); ++i, across.pop_back()) {
      const at::Tensor grown = grow(grow_[i], maps.added, across.back().sizes());
      maps = up_[i]->forward(at::cat({grown, across.back()}, 1));
    }
    return last_(maps.all);
  }

 private:
  using Block = std::shared_ptr<DenseBlock>;

  Block add_block(const std::string& name, int64_t in, int64_t layers, const Options& options) {
    return register_module(name, std::make_shared<DenseBlock>(in, layers, options));
  }

  at::Tensor activate(const at::Tensor& x) const {
    return at::dropout(x.relu_(), dropout_, is_training());
  }

  // To exactly the size of the maps from across: twice as large, or one less where that is odd.
  static at::Tensor grow(const nn::ConvTranspose2d& layer, const at::Tensor& x,
                         at::IntArrayRef size) {
    const auto missing = [&](int64_t side) { return size[side] - (2 * x.size(side) - 1); };
    return at::conv_transpose2d(x, layer->weight, layer->bias, {2, 2}, {1, 1},
                                {missing(2), missing(3)});
  }

  const double dropout_;
  nn::Conv2d first_{nullptr}, last_{nullptr};
  std::vector<Block> down_, up_;
  std::vector<nn::Conv2d> shrink_;
  std::vector<nn::ConvTranspose2d> grow_;
};

STOKER_REGISTER(Model, "tiramisu", Tiramisu);

}  // namespace
}  // namespace stoker
