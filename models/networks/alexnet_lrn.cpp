#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <cmath>

#include "models/networks/network.h"

namespace stoker {
namespace {

namespace nn = torch::nn;

// TensorFlow's truncated_normal(0, sigma): values beyond two sigma are drawn again. By inversion of
// the distribution function between them.
void truncated_normal_(at::Tensor tensor, double sigma) {
  const at::NoGradGuard no_grad;
  const double bound = std::erf(2 / std::sqrt(2.0));
  tensor.uniform_(-bound, bound).erfinv_().mul_(sigma * std::sqrt(2.0));
}

// TensorFlow's SAME padding along one side: as little as makes ceil(size / stride) outputs, the odd
// pixel after.
struct Padding {
  int64_t before;
  int64_t after;
};
Padding same_padding(int64_t size, int64_t kernel, int64_t stride) {
  const int64_t outputs = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((outputs - 1) * stride + kernel - size, 0);
  return {total / 2, total - total / 2};
}

at::Tensor pool(const at::Tensor& x) { return at::max_pool2d(x, {3, 3}, {2, 2}); }

// The AlexNet of the study by Chien et al., "Characterizing Deep-Learning I/O Workloads in
// TensorFlow" (arXiv:1810.03035, 2018), as its code builds it: one tower, local response
// normalisation (Krizhevsky et al. 2012, section 3.3), TensorFlow's SAME padding.
class AlexNetLrn final : public Network {
 public:
  struct Options {
    double dropout = 0.5;
    template <class V>
    void visit(V& v) {
      v("dropout", dropout, "Dropout: the probability that an output of fc1 or fc2 is set to zero.",
        Limits{0, 1});
    }
  };
  AlexNetLrn(Options options, const Inputs& inputs)
      : dropout_(options.dropout),
        rows_(same_padding(inputs.height, kKernel, kStride)),
        columns_(same_padding(inputs.width, kKernel, kStride)) {
    require_image_size("alexnet_lrn", inputs, kSmallest);
    conv1_ = conv("conv1", inputs.channels, 96, kKernel, kStride, 0);
    conv2_ = conv("conv2", 96, 256, 5, 1, 1);
    conv3_ = conv("conv3", 256, 384, 3, 1, 0);
    conv4_ = conv("conv4", 384, 384, 3, 1, 1);
    conv5_ = conv("conv5", 384, 256, 3, 1, 1);
    fc1_ = linear("fc1", 256 * grid(inputs.height) * grid(inputs.width), 4096);
    fc2_ = linear("fc2", 4096, 4096);
    fc3_ = linear("fc3", 4096, inputs.classes);
  }

  at::Tensor forward(at::Tensor x) override {
    x = at::constant_pad_nd(x, {columns_.before, columns_.after, rows_.before, rows_.after});
    x = pool(normalise_(at::relu(conv1_(x))));
    x = pool(normalise_(at::relu(conv2_(x))));
    x = at::relu(conv3_(x));
    x = at::relu(conv4_(x));
    x = pool(at::relu(conv5_(x)));
    x = at::dropout(at::relu(fc1_(x.flatten(1))), dropout_, is_training());
    x = at::dropout(at::relu(fc2_(x)), dropout_, is_training());
    return fc3_(x);
  }

 private:
  static constexpr int64_t kKernel = 11;
  static constexpr int64_t kStride = 4;
  static constexpr int64_t kSmallest = 57;  // the last pooling then still has a whole window
  static constexpr double kSigma = 0.01;

  // The side of the last feature map: 6 for 224 pixels.
  static int64_t grid(int64_t size) {
    int64_t side = (size + kStride - 1) / kStride;
    for (int pooling = 0; pooling < 3; ++pooling) side = (side - 3) / 2 + 1;
    return side;
  }

  nn::Conv2d conv(const char* name, int64_t in, int64_t out, int64_t kernel, int64_t stride,
                  double bias) {
    const int64_t padding = stride == 1 ? kernel / 2 : 0;
    auto layer = nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding));
    truncated_normal_(layer->weight, kSigma);
    nn::init::constant_(layer->bias, bias);
    return register_module(name, layer);
  }

  nn::Linear linear(const char* name, int64_t in, int64_t out) {
    auto layer = nn::Linear(in, out);
    truncated_normal_(layer->weight, kSigma);
    nn::init::zeros_(layer->bias);
    return register_module(name, layer);
  }

  double dropout_;
  Padding rows_;
  Padding columns_;
  // LibTorch divides alpha by the window, TensorFlow does not: 1e-4 / 5 = the study's 2e-5.
  nn::LocalResponseNorm normalise_{nn::LocalResponseNormOptions(5).alpha(1e-4).beta(0.75).k(1)};
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr}, conv4_{nullptr}, conv5_{nullptr};
  nn::Linear fc1_{nullptr}, fc2_{nullptr}, fc3_{nullptr};
};

STOKER_REGISTER(Model, "alexnet_lrn", AlexNetLrn);

}  // namespace
}  // namespace stoker
