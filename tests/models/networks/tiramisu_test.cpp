#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "tests/models/networks/models.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using State = std::map<std::string, at::Tensor>;
using Layers = std::vector<int64_t>;

// Of the published network, by counting: a convolution has kernel^2 * in * out weights and out
// biases.
int64_t counted(const Layers& layers, int64_t channels, int64_t classes) {
  constexpr int64_t kGrowth = 16, kFilters = 48;
  const auto conv = [](int64_t in, int64_t out, int64_t kernel) {
    return kernel * kernel * in * out + out;
  };
  // Layer i of a block sees `in` + 16 i maps.
  const auto block = [&](int64_t in, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += conv(in + kGrowth * i, kGrowth, 3);
    return sum;
  };
  int64_t sum = conv(channels, kFilters, 3);
  int64_t maps = kFilters;
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t after = kFilters + kGrowth * std::reduce(layers.begin(), layers.begin() + i + 1);
    sum += block(maps, layers[i]);
    maps = after;
    if (i + 1 < layers.size()) sum += conv(maps, maps, 1);
  }
  for (size_t i = layers.size() - 1; i-- > 0;) {
    const int64_t below = kGrowth * layers[i + 1];
    const int64_t across = kFilters + kGrowth * std::reduce(layers.begin(), layers.begin() + i + 1);
    sum += conv(below, below, 3) + block(below + across, layers[i]);
    maps = below + across + kGrowth * layers[i];
  }
  return sum + conv(maps, classes, 1);
}

// The network from its state, in evaluation mode: a block gives what went in and what was added.
class Reference {
 public:
  explicit Reference(const State& state) : state_(state) {}

  at::Tensor operator()(const at::Tensor& image, size_t blocks) {
    at::Tensor x = conv("first", image, 1).relu(), added;
    std::vector<at::Tensor> across;
    for (size_t i = 0; i < blocks; ++i) {
      if (i > 0) x = conv("shrink" + std::to_string(i - 1), x, 2).relu();
      std::tie(x, added) = block("down" + std::to_string(i), x);
      across.push_back(x);
    }
    for (size_t i = blocks - 1; i-- > 0;) {
      const std::string name = "grow" + std::to_string(i);
      // Of even sides twice as many pixels.
      const at::Tensor grown = at::conv_transpose2d(
          added, state_.at(name + ".weight"), state_.at(name + ".bias"), {2, 2}, {1, 1}, {1, 1});
      std::tie(x, added) = block("up" + std::to_string(i), at::cat({grown, across[i]}, 1));
    }
    return conv("last", x, 1);
  }

 private:
  at::Tensor conv(const std::string& name, const at::Tensor& x, int64_t stride) const {
    const at::Tensor& weight = state_.at(name + ".weight");
    const int64_t padding = weight.size(2) / 2;
    return at::conv2d(x, weight, state_.at(name + ".bias"), {stride, stride}, {padding, padding});
  }
  std::pair<at::Tensor, at::Tensor> block(const std::string& name, at::Tensor x) const {
    const int64_t before = x.size(1);
    for (int i = 0; state_.contains(name + ".conv" + std::to_string(i) + ".weight"); ++i) {
      x = at::cat({x, conv(name + ".conv" + std::to_string(i), x, 1).relu()}, 1);
    }
    return {x, x.narrow(1, before, x.size(1) - before)};
  }

  const State& state_;
};

TEST(Tiramisu, has_the_published_layers_and_as_many_parameters_as_they_have) {
  const Layers published{3, 3, 4, 4, 7, 7, 10};
  const auto model = make_model("{type: tiramisu}", {4, 768, 1152, 3});
  EXPECT_EQ(counted(published, 4, 3), 4'808'643);
  EXPECT_EQ(parameter_count(*model), 4'808'643);
  const State state = state_of(*model);
  const auto shape = [&](const std::string& name) { return state.at(name).sizes().vec(); };
  EXPECT_EQ(shape("first.weight"), (Layers{48, 4, 3, 3}));
  EXPECT_EQ(shape("down6.conv9.weight"), (Layers{16, 496 + 9 * 16, 3, 3}));
  EXPECT_EQ(shape("shrink0.weight"), (Layers{96, 96, 1, 1}));
  EXPECT_EQ(shape("grow5.weight"), (Layers{160, 160, 3, 3}));
  EXPECT_EQ(shape("up0.conv2.weight"), (Layers{16, 48 + 96 + 2 * 16, 3, 3}));
  EXPECT_EQ(shape("last.weight"), (Layers{3, 192, 1, 1}));
  // 38 convolutions down, 6 that halve, 6 that double, 28 up, the first and the last.
  EXPECT_EQ(state.size(), 2u * (38 + 6 + 6 + 28 + 2));
}

TEST(Tiramisu, computes_what_its_layers_say) {
  const at::NoGradGuard no_grad;
  for (const Layers& layers : {Layers{3, 3, 4, 4, 7, 7, 10}, Layers{1, 2, 3}}) {
    const Model::Inputs inputs{4, 64, 128, 3};
    const std::string yaml =
        layers.size() == 3 ? "{type: tiramisu, layers: [1, 2, 3]}" : "{type: tiramisu}";
    const auto model = make_model(yaml, inputs);
    for (auto [name, value] : state_of(*model)) {
      if (name.ends_with("bias")) value.normal_(0, 0.1);
    }
    model->set_training(false);
    const at::Tensor x = images(1, inputs);
    const State state = state_of(*model);
    const at::Tensor logits = model->forward(x);
    EXPECT_EQ(logits.sizes(), at::IntArrayRef({1, 3, 64, 128}));
    expect_close(logits, Reference(state)(x, layers.size()));
    EXPECT_EQ(parameter_count(*model), counted(layers, 4, 3));
  }
}

TEST(Tiramisu, weights_are_he_uniform_and_biases_zero) {
  const auto model = make_model("{type: tiramisu}", {4, 64, 64, 3});
  for (const auto& [name, value] : state_of(*model)) {
    const double largest = value.abs().max().item<double>();
    if (name.ends_with("bias")) {
      EXPECT_EQ(largest, 0) << name;
      continue;
    }
    const double bound = std::sqrt(6.0 / static_cast<double>(value.numel() / value.size(0)));
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, 0.95 * bound) << name;
  }
}

TEST(Tiramisu, needs_two_blocks) {
  EXPECT_EQ(error_of([] {
              make_model("{type: tiramisu, layers: [3]}", {4, 64, 64, 3});
            }),
            "test.yaml:1:26: model: 'layers' must have two blocks or more");
}

}  // namespace
}  // namespace stoker
