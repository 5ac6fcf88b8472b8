#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "io/core/error.h"
#include "models/networks/network.h"

namespace stoker {
namespace {

namespace nn = torch::nn;

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  auto layer =
      nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
  nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
  return layer;
}

// Two 3x3 convolutions and the identity, which is projected where the shape changes.
class BasicBlock final : public nn::Module {
 public:
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1_(register_module("conv1", conv(in, out, 3, stride))),
        bn1_(register_module("bn1", nn::BatchNorm2d(out))),
        conv2_(register_module("conv2", conv(out, out, 3, 1))),
        bn2_(register_module("bn2", nn::BatchNorm2d(out))) {
    if (in == out && stride == 1) return;
    downsample_ = register_module("downsample",
                                  nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out)));
  }

  at::Tensor forward(at::Tensor x) {
    at::Tensor y = bn1_(conv1_(x)).relu_();
    y = bn2_(conv2_(y));
    return y.add_(downsample_ ? downsample_->forward(x) : x).relu_();
  }

 private:
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  nn::Conv2d conv2_;
  nn::BatchNorm2d bn2_;
  nn::Sequential downsample_{nullptr};
};

nn::Sequential stage(int64_t in, int64_t out, int64_t stride) {
  return nn::Sequential(std::make_shared<BasicBlock>(in, out, stride),
                        std::make_shared<BasicBlock>(out, out, 1));
}

// He et al., "Deep Residual Learning for Image Recognition" (arXiv:1512.03385, 2015), table 1, 18
// layers; laid out, named and initialised as torchvision's.
class ResNet18 final : public Network {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  ResNet18(Options, const Inputs& inputs)
      : conv1_(register_module("conv1", conv(inputs.channels, 64, 7, 2))),
        bn1_(register_module("bn1", nn::BatchNorm2d(64))),
        layer1_(register_module("layer1", stage(64, 64, 1))),
        layer2_(register_module("layer2", stage(64, 128, 2))),
        layer3_(register_module("layer3", stage(128, 256, 2))),
        layer4_(register_module("layer4", stage(256, 512, 2))),
        fc_(register_module("fc", nn::Linear(512, inputs.classes))) {}

  at::Tensor forward(at::Tensor x) override {
    if (is_training()) check_batch(x);
    x = at::max_pool2d(bn1_(conv1_(x)).relu_(), {3, 3}, {2, 2}, {1, 1});
    x = layer4_->forward(layer3_->forward(layer2_->forward(layer1_->forward(x))));
    return fc_(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  static constexpr int64_t kStride = 32;  // stride of the last feature map

  // Batch normalisation in training needs two values per channel in the smallest feature map.
  static void check_batch(const at::Tensor& x) {
    if (x.size(0) > 1 || x.size(2) > kStride || x.size(3) > kStride) return;
    throw Error(ExitCode::config,
                fmt::format("model: resnet18 cannot train on a batch of one image of {} x {} "
                            "pixels: set loader.drop_last, or raise loader.batch_size or "
                            "decoder.size (above {})",
                            x.size(2), x.size(3), kStride));
  }

  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  nn::Sequential layer1_;
  nn::Sequential layer2_;
  nn::Sequential layer3_;
  nn::Sequential layer4_;
  nn::Linear fc_;
};

STOKER_REGISTER(Model, "resnet18", ResNet18);

}  // namespace
}  // namespace stoker
