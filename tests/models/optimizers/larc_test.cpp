#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/models/optimizers/optimizers.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

constexpr double kTrust = 0.02, kEpsilon = 1e-3, kDecay = 0.1, kRate = 0.05;

struct Case {
  at::Tensor parameter;
  at::Tensor gradient;
};

std::vector<Case> cases() {
  at::manual_seed(9);
  const auto options = at::TensorOptions(at::kDouble);
  return {{at::randn({6, 5}, options), at::randn({6, 5}, options) * 10},
          {at::randn({8}, options) * 100, at::randn({8}, options) * 1e-3},
          {at::zeros({3}, options), at::randn({3}, options)},
          {at::randn({4}, options), at::zeros({4}, options)}};
}

// The formula as it is written, one parameter at a time, and plain gradient descent.
at::Tensor expected(const Case& of, double lr, bool clip, double decay) {
  const auto p = of.parameter.norm().item<double>(), g = of.gradient.norm().item<double>();
  if (p == 0 || g == 0) return of.parameter - of.gradient * lr;
  double factor = kTrust * p / (g + decay * p + kEpsilon);
  if (clip) factor = std::min(factor / lr, 1.0);
  return of.parameter - (of.gradient + of.parameter * decay) * (factor * lr);
}

std::string yaml(const std::string& mode, double decay) {
  return fmt::format(
      "{{type: larc, trust: {}, epsilon: {}, weight_decay: {}, mode: {}, inner: {{type: sgd, lr: "
      "{}}}}}",
      kTrust, kEpsilon, decay, mode, kRate);
}

TEST(Larc, gives_each_parameter_the_rate_of_the_formula) {
  for (const std::string mode : {"clip", "scale"}) {
    for (const double decay : {0.0, kDecay}) {
      std::vector<at::Tensor> parameters;
      for (const Case& each : cases()) {
        parameters.push_back(each.parameter.clone().set_requires_grad(true));
        parameters.back().mutable_grad() = each.gradient.clone();
      }
      make<Optimizer>(yaml(mode, decay), {parameters})->step(kRate);
      for (size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor right = expected(cases()[i], kRate, mode == "clip", decay);
        EXPECT_LT((parameters[i] - right).abs().max().item<double>(), 1e-12) << mode << i;
      }
    }
  }
}

TEST(Larc, has_rate_and_state_of_the_optimizer_within) {
  const at::Tensor parameter = at::ones({3}).set_requires_grad(true);
  const auto optimizer =
      make<Optimizer>("{type: larc, inner: {type: adam, lr: 0.0001}}", {{parameter}});
  EXPECT_EQ(optimizer->base_lr(), 0.0001);
  std::vector<std::string> names;
  for (const OptimizerState& state : optimizer->state()) names.push_back(state.name);
  EXPECT_EQ(names, (std::vector<std::string>{"exp_avg", "exp_avg_sq", "step"}));
}

TEST(Larc, a_parameter_without_gradient_is_left_alone) {
  const at::Tensor parameter = at::ones({3}).set_requires_grad(true);
  make<Optimizer>("{type: larc, weight_decay: 0.1}", {{parameter}})->step(0.1);
  EXPECT_TRUE(at::equal(parameter, at::ones({3})));
}

}  // namespace
}  // namespace stoker
