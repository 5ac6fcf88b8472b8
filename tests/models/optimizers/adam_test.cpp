#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>

#include "tests/models/optimizers/optimizers.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

template <class Reference, class Options>
double difference_from_torch(const std::string& type, const Options& options,
                             at::ScalarType scalar) {
  const auto& [beta1, beta2] = options.betas();
  const std::string yaml =
      fmt::format("{{type: {}, lr: {}, beta1: {}, beta2: {}, eps: {}, weight_decay: {}}}", type,
                  options.lr(), beta1, beta2, options.eps(), options.weight_decay());
  SCOPED_TRACE(yaml);
  return difference(
      yaml, scalar, [&](const std::vector<at::Tensor>& p) { return Reference(p, options); },
      [](Reference& adam, double lr) { adam.param_groups()[0].options().set_lr(lr); });
}

template <class Reference, class Options>
void expect_equal(const std::string& type) {
  for (const double weight_decay : {0.0, 0.1}) {
    for (const auto& betas : {std::tuple(0.9, 0.999), std::tuple(0.0, 0.9), std::tuple(0.5, 0.5)}) {
      for (const double eps : {1e-8, 1e-2}) {
        const Options options = Options(0.02).betas(betas).eps(eps).weight_decay(weight_decay);
        EXPECT_LT((difference_from_torch<Reference>(type, options, at::kDouble)), 1e-12);
        EXPECT_LT((difference_from_torch<Reference>(type, options, at::kFloat)), 1e-5);
      }
    }
  }
}

TEST(Adam, equals_torch_optim_with_all_options) {
  expect_equal<torch::optim::Adam, torch::optim::AdamOptions>("adam");
}

TEST(AdamW, equals_torch_optim_with_all_options) {
  expect_equal<torch::optim::AdamW, torch::optim::AdamWOptions>("adamw");
}

TEST(Adam, defaults_are_those_of_torch_optim) {
  const auto set_rate = [](auto& adam, double lr) { adam.param_groups()[0].options().set_lr(lr); };
  EXPECT_LT(difference(
                "{type: adam}", at::kDouble, [](const auto& p) { return torch::optim::Adam(p); },
                set_rate),
            1e-12);
  EXPECT_LT(difference(
                "{type: adamw}", at::kDouble, [](const auto& p) { return torch::optim::AdamW(p); },
                set_rate),
            1e-12);
}

TEST(Adam, a_parameter_without_gradient_is_left_alone) {
  for (const char* yaml : {"{type: adam, weight_decay: 0.1}", "{type: adamw}"}) {
    const at::Tensor parameter = at::ones({3}).set_requires_grad(true);
    make<Optimizer>(yaml, {{parameter}})->step(0.1);
    EXPECT_TRUE(at::equal(parameter, at::ones({3})));
  }
}

TEST(Adam, betas_are_below_one) {
  const auto error = [](const std::string& yaml) {
    return error_of([&] { make<Optimizer>(yaml, {}); });
  };
  EXPECT_EQ(error("{type: adam, beta1: 1}"), "test.yaml:1:21: optimizer: 'beta1' must be below 1");
  EXPECT_EQ(error("{type: adamw, beta2: 1}"), "test.yaml:1:22: optimizer: 'beta2' must be below 1");
}

}  // namespace
}  // namespace stoker
