#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>

#include <cmath>

#include "tests/models/networks/models.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using State = std::map<std::string, at::Tensor>;

at::Tensor normalised_conv(const State& state, const at::Tensor& x, const std::string& conv,
                           const std::string& bn, int64_t stride) {
  const at::Tensor weight = state.at(conv + ".weight");
  const int64_t padding = weight.size(2) / 2;
  return at::batch_norm(at::conv2d(x, weight, {}, {stride, stride}, {padding, padding}),
                        state.at(bn + ".weight"), state.at(bn + ".bias"),
                        state.at(bn + ".running_mean"), state.at(bn + ".running_var"), false, 0.1,
                        1e-5, false);
}

// torchvision.models.resnet18 in evaluation mode, from a state dict with torchvision's names.
at::Tensor torchvision_resnet18(const State& state, at::Tensor x) {
  x = normalised_conv(state, x, "conv1", "bn1", 2).relu();
  x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
  for (int layer = 1; layer <= 4; ++layer) {
    for (int block = 0; block < 2; ++block) {
      const std::string name = "layer" + std::to_string(layer) + "." + std::to_string(block) + ".";
      const bool halves = layer > 1 && block == 0;
      const int64_t stride = halves ? 2 : 1;
      at::Tensor y = normalised_conv(state, x, name + "conv1", name + "bn1", stride).relu();
      y = normalised_conv(state, y, name + "conv2", name + "bn2", 1);
      if (halves) {
        x = normalised_conv(state, x, name + "downsample.0", name + "downsample.1", stride);
      }
      x = (x + y).relu();
    }
  }
  return at::linear(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1), state.at("fc.weight"),
                    state.at("fc.bias"));
}

TEST(ResNet18, computes_what_torchvision_computes_from_the_same_state) {
  const at::NoGradGuard no_grad;
  const Model::Inputs inputs{3, 112, 112, 10};
  const auto model = make_model("{type: resnet18}", inputs);
  const State state = state_of(*model);
  for (auto [name, value] : state) {
    if (name.ends_with("running_mean")) value.normal_(0, 0.1);
    if (name.ends_with("running_var")) value.uniform_(0.5, 2);
  }
  model->set_training(false);
  const at::Tensor x = images(2, inputs);
  expect_close(model->forward(x), torchvision_resnet18(state, x));
}

TEST(ResNet18, has_torchvisions_122_entries_of_state) {
  const auto model = make_model("{type: resnet18}", {3, 64, 64, 2});
  EXPECT_EQ(parameters(*model).size(), 62u);
  EXPECT_EQ(state_of(*model).size(), 122u);
  EXPECT_EQ(state_of(*model).count("layer4.1.bn2.num_batches_tracked"), 1u);
}

TEST(ResNet18, convolutions_start_as_he_normal_by_fan_out) {
  const State state = state_of(*make_model("{type: resnet18}", {3, 64, 64, 2}));
  const double conv1 = std::sqrt(2.0 / (64 * 7 * 7));
  const double last = std::sqrt(2.0 / (512 * 3 * 3));
  EXPECT_NEAR(state.at("conv1.weight").std().item<double>(), conv1, 0.03 * conv1);
  EXPECT_NEAR(state.at("layer4.1.conv2.weight").std().item<double>(), last, 0.01 * last);
  EXPECT_TRUE(state.at("bn1.weight").eq(1).all().item<bool>());
}

TEST(ResNet18, one_tiny_image_cannot_be_trained_on) {
  const Model::Inputs inputs{3, 32, 32, 2};
  const auto model = make_model("{type: resnet18}", inputs);
  EXPECT_EQ(error_of([&] { model->forward(images(1, inputs)); }),
            "model: resnet18 cannot train on a batch of one image of 32 x 32 pixels: set "
            "loader.drop_last, or raise loader.batch_size or decoder.size (above 32)");
  EXPECT_EQ(model->forward(images(2, inputs)).size(0), 2);
  model->set_training(false);
  EXPECT_EQ(model->forward(images(1, inputs)).size(0), 1);
}

}  // namespace
}  // namespace stoker
