#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>

#include <cmath>

#include "tests/models/networks/models.h"

namespace stoker {
namespace {

// torchvision.models.alexnet in evaluation mode, from a state dict with torchvision's names.
at::Tensor torchvision_alexnet(const std::map<std::string, at::Tensor>& state, at::Tensor x) {
  const auto conv = [&](const std::string& name, int64_t stride, int64_t padding) {
    x = at::conv2d(x, state.at(name + ".weight"), state.at(name + ".bias"), {stride, stride},
                   {padding, padding})
            .relu();
  };
  const auto linear = [&](const std::string& name) {
    x = at::linear(x, state.at(name + ".weight"), state.at(name + ".bias"));
  };
  conv("features.0", 4, 2);
  x = at::max_pool2d(x, {3, 3}, {2, 2});
  conv("features.3", 1, 2);
  x = at::max_pool2d(x, {3, 3}, {2, 2});
  conv("features.6", 1, 1);
  conv("features.8", 1, 1);
  conv("features.10", 1, 1);
  x = at::max_pool2d(x, {3, 3}, {2, 2});
  x = at::adaptive_avg_pool2d(x, {6, 6}).flatten(1);
  linear("classifier.1");
  x = x.relu();
  linear("classifier.4");
  x = x.relu();
  linear("classifier.6");
  return x;
}

TEST(AlexNet, computes_what_torchvision_computes_from_the_same_state) {
  for (const int64_t side : {112, 224}) {
    const Model::Inputs inputs{3, side, side, 10};
    const auto model = make_model("{type: alexnet}", inputs);
    model->set_training(false);
    const at::Tensor x = images(2, inputs);
    expect_close(model->forward(x), torchvision_alexnet(state_of(*model), x));
  }
}

TEST(AlexNet, has_no_state_beyond_torchvisions) {
  std::vector<std::string> names;
  for (const auto& [name, value] : state_of(*make_model("{type: alexnet}", {3, 64, 64, 2}))) {
    names.push_back(name);
  }
  std::vector<std::string> expected;
  for (const char* layer : {"classifier.1", "classifier.4", "classifier.6", "features.0",
                            "features.10", "features.3", "features.6", "features.8"}) {
    expected.push_back(std::string(layer) + ".bias");
    expected.push_back(std::string(layer) + ".weight");
  }
  EXPECT_EQ(names, expected);
}

TEST(AlexNet, weights_and_biases_are_uniform_within_one_over_root_fan_in) {
  const auto state = state_of(*make_model("{type: alexnet}", {3, 64, 64, 2}));
  const auto expect_uniform = [&](const std::string& layer, float fan_in) {
    const float bound = 1 / std::sqrt(fan_in);
    for (const char* kind : {".weight", ".bias"}) {
      const float largest = state.at(layer + kind).abs().max().item<float>();
      EXPECT_LE(largest, bound) << layer << kind;
      EXPECT_GT(largest, 0.9F * bound) << layer << kind;
    }
    const float deviation = state.at(layer + ".weight").std().item<float>();
    EXPECT_NEAR(deviation, bound / std::sqrt(3.0F), 0.02F * bound) << layer;
  };
  expect_uniform("features.0", 3 * 11 * 11);
  expect_uniform("features.3", 64 * 5 * 5);
  expect_uniform("classifier.1", 9216);
}

TEST(AlexNet, weights_may_begin_as_lecun_normal_by_fan_in_and_biases_as_zero) {
  const auto state = state_of(*make_model("{type: alexnet, init: lecun}", {3, 64, 64, 2}));
  const auto expect_normal = [&](const std::string& layer, double fan_in) {
    const double deviation = 1 / std::sqrt(fan_in);
    EXPECT_NEAR(state.at(layer + ".weight").std().item<double>(), deviation, 0.03 * deviation);
    EXPECT_GT(state.at(layer + ".weight").abs().max().item<double>(), 3 * deviation) << layer;
    EXPECT_TRUE(state.at(layer + ".bias").eq(0).all().item<bool>()) << layer;
  };
  expect_normal("features.0", 3 * 11 * 11);
  expect_normal("features.3", 64 * 5 * 5);
  expect_normal("classifier.1", 9216);
}

TEST(AlexNet, dropout_acts_in_training_only_and_can_be_off) {
  const Model::Inputs inputs{3, 64, 64, 2};
  const at::Tensor x = images(2, inputs);
  const auto model = make_model("{type: alexnet}", inputs);
  EXPECT_FALSE(at::equal(model->forward(x), model->forward(x)));
  const auto without = make_model("{type: alexnet, dropout: 0}", inputs);
  EXPECT_TRUE(at::equal(without->forward(x), without->forward(x)));
}

}  // namespace
}  // namespace stoker
