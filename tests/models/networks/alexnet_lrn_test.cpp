#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>

#include <algorithm>

#include "tests/models/networks/models.h"

namespace stoker {
namespace {

// tf.nn.local_response_normalization(x, depth_radius=2, bias=1, alpha=2e-5, beta=0.75) on NCHW,
// from its definition: alpha is not divided by the window.
at::Tensor tensorflow_lrn(const at::Tensor& x) {
  const int64_t channels = x.size(1);
  at::Tensor y = at::empty_like(x);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t begin = std::max<int64_t>(c - 2, 0);
    const int64_t end = std::min<int64_t>(c + 3, channels);
    const at::Tensor squares = x.narrow(1, begin, end - begin).square().sum(1);
    y.select(1, c) = x.select(1, c) / (1 + 2e-5 * squares).pow(0.75);
  }
  return y;
}

// The study's network in evaluation mode.
at::Tensor reference(const std::map<std::string, at::Tensor>& state, at::Tensor x) {
  const auto conv = [&](const std::string& name, int64_t stride, int64_t padding) {
    return at::conv2d(x, state.at(name + ".weight"), state.at(name + ".bias"), {stride, stride},
                      {padding, padding})
        .relu();
  };
  const auto linear = [&](const std::string& name) {
    return at::linear(x, state.at(name + ".weight"), state.at(name + ".bias"));
  };
  x = at::constant_pad_nd(x, {3, 4, 3, 4});
  x = conv("conv1", 4, 0);
  EXPECT_EQ(x.sizes(), at::IntArrayRef({x.size(0), 96, 56, 56}));
  x = at::max_pool2d(tensorflow_lrn(x), {3, 3}, {2, 2});
  x = conv("conv2", 1, 2);
  EXPECT_EQ(x.size(2), 27);
  x = at::max_pool2d(tensorflow_lrn(x), {3, 3}, {2, 2});
  x = conv("conv3", 1, 1);
  x = conv("conv4", 1, 1);
  x = conv("conv5", 1, 1);
  x = at::max_pool2d(x, {3, 3}, {2, 2}).flatten(1);
  x = linear("fc1").relu();
  x = linear("fc2").relu();
  return linear("fc3");
}

TEST(AlexNetLrn, computes_what_the_study_computes) {
  const at::NoGradGuard no_grad;
  const Model::Inputs inputs{3, 224, 224, 102};
  const auto model = make_model("{type: alexnet_lrn}", inputs);
  model->set_training(false);
  // Large enough that the normalisation divides by several, so that a wrong alpha shows.
  const at::Tensor x = images(2, inputs) * 1000;
  expect_close(model->forward(x), reference(state_of(*model), x));
}

TEST(AlexNetLrn, weights_are_a_normal_cut_at_two_sigma_and_biases_zero_or_one) {
  const auto state = state_of(*make_model("{type: alexnet_lrn}", {3, 224, 224, 102}));
  for (const char* name : {"conv1.weight", "conv4.weight", "fc1.weight", "fc3.weight"}) {
    const at::Tensor weight = state.at(name);
    EXPECT_LE(weight.abs().max().item<double>(), 0.02) << name;
    EXPECT_GT(weight.abs().max().item<double>(), 0.0199) << name;
    EXPECT_NEAR(weight.mean().item<double>(), 0, 2e-4) << name;
    EXPECT_NEAR(weight.std().item<double>(), 0.0087963, 1e-4) << name;
  }
  // Biases are one in the second, fourth and fifth convolution.
  const std::map<std::string, double> expected{{"conv1", 0}, {"conv2", 1}, {"conv3", 0},
                                               {"conv4", 1}, {"conv5", 1}, {"fc1", 0},
                                               {"fc2", 0},   {"fc3", 0}};
  for (const auto& [layer, value] : expected) {
    EXPECT_TRUE(state.at(layer + ".bias").eq(value).all().item<bool>()) << layer;
  }
}

TEST(AlexNetLrn, padding_is_tensorflows_same_at_any_size) {
  // 112 = 4 * 28: 7 pixels, as at 224; 113: 29 outputs, 10 pixels; both keep ceil(size / 4).
  for (const auto& [side, grid] :
       std::map<int64_t, int64_t>{{112, 2}, {113, 2}, {224, 6}, {227, 6}}) {
    const auto state = state_of(*make_model("{type: alexnet_lrn}", {3, side, side, 2}));
    EXPECT_EQ(state.at("fc1.weight").size(1), 256 * grid * grid) << side;
  }
}

}  // namespace
}  // namespace stoker
