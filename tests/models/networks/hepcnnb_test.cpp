#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>

#include <cmath>

#include "tests/models/networks/models.h"

namespace stoker {
namespace {

using State = std::map<std::string, at::Tensor>;

// Maxima of 2 x 2, of an odd side with what there is, as TensorFlow's SAME has it.
at::Tensor pool(const at::Tensor& x) {
  const at::Tensor even = at::constant_pad_nd(x, {0, x.size(3) % 2, 0, x.size(2) % 2}, -1e30);
  return even.unfold(2, 2, 2).unfold(3, 2, 2).amax({4, 5});
}

// As the benchmark's code builds it, in evaluation mode.
at::Tensor benchmark(const State& state, at::Tensor x) {
  for (int i = 1; i <= 5; ++i) {
    const std::string name = "conv" + std::to_string(i);
    x = at::conv2d(x, state.at(name + ".weight"), state.at(name + ".bias"), {1, 1}, {1, 1}).relu();
    if (i < 5) x = pool(x);
  }
  return at::linear(x.mean({2, 3}), state.at("fc1.weight"), state.at("fc1.bias"));
}

TEST(HepCnnB, computes_what_the_benchmark_computes_from_the_same_state) {
  const at::NoGradGuard no_grad;
  for (const int64_t side : {64, 45}) {
    const Model::Inputs inputs{3, side, side, 2};
    const auto model = make_model("{type: hepcnnb}", inputs);
    for (auto [name, value] : state_of(*model)) {
      if (name.ends_with("bias")) value.normal_(0, 0.1);
    }
    model->set_training(false);
    const at::Tensor x = images(2, inputs);
    expect_close(model->forward(x), benchmark(state_of(*model), x));
  }
}

TEST(HepCnnB, has_the_published_number_of_parameters_at_any_size) {
  for (const int64_t side : {224, 32}) {
    const auto model = make_model("{type: hepcnnb}", {3, side, side, 2});
    EXPECT_EQ(parameter_count(*model), 594'178);
    EXPECT_EQ(state_of(*model).size(), 12u);  // five convolutions and one layer, with biases
  }
}

TEST(HepCnnB, weights_are_he_normal_and_biases_zero) {
  const auto model = make_model("{type: hepcnnb}", {3, 224, 224, 2});
  for (const auto& [name, value] : state_of(*model)) {
    const double deviation = value.numel() > 2 ? value.std().item<double>() : 0;
    if (name.ends_with("bias")) {
      EXPECT_EQ(value.abs().max().item<double>(), 0) << name;
    } else {
      const auto fan_in = static_cast<double>(value.numel() / value.size(0));
      const double sigma = std::sqrt(2 / fan_in);
      EXPECT_NEAR(deviation, sigma, 4 * sigma / std::sqrt(2.0 * static_cast<double>(value.numel())))
          << name;
    }
  }
}

}  // namespace
}  // namespace stoker
