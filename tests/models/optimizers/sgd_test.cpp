#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>
#include <torch/optim/sgd.h>

#include "tests/models/optimizers/optimizers.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

double difference_from_sgd(const torch::optim::SGDOptions& options, at::ScalarType type) {
  const std::string yaml = fmt::format(
      "{{type: sgd, lr: {}, momentum: {}, dampening: {}, weight_decay: {}, nesterov: {}}}",
      options.lr(), options.momentum(), options.dampening(), options.weight_decay(),
      options.nesterov());
  SCOPED_TRACE(yaml);
  return difference(
      yaml, type, [&](const std::vector<at::Tensor>& p) { return torch::optim::SGD(p, options); },
      [](torch::optim::SGD& sgd, double lr) { sgd.param_groups()[0].options().set_lr(lr); });
}

std::vector<torch::optim::SGDOptions> combinations() {
  std::vector<torch::optim::SGDOptions> all;
  for (const double weight_decay : {0.0, 0.1}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const double dampening : {0.0, 0.3}) {
        for (const bool nesterov : {false, true}) {
          if (nesterov && (momentum == 0 || dampening != 0)) continue;
          all.push_back(torch::optim::SGDOptions(0.05)
                            .momentum(momentum)
                            .dampening(dampening)
                            .weight_decay(weight_decay)
                            .nesterov(nesterov));
        }
      }
    }
  }
  return all;
}

TEST(Sgd, equals_torch_optim_with_all_options) {
  for (const auto& options : combinations()) {
    EXPECT_LT(difference_from_sgd(options, at::kDouble), 1e-12);
    EXPECT_LT(difference_from_sgd(options, at::kFloat), 1e-5);
  }
}

TEST(Sgd, a_parameter_without_gradient_is_left_alone) {
  const at::Tensor parameter = at::ones({3}).set_requires_grad(true);
  const auto sgd = make<Optimizer>("{type: sgd, momentum: 0.9, weight_decay: 0.1}", {{parameter}});
  sgd->step(0.1);
  EXPECT_TRUE(at::equal(parameter, at::ones({3})));
}

TEST(Sgd, a_gradient_in_another_memory_format_means_the_same) {
  const auto updated = [](at::MemoryFormat format) {
    at::manual_seed(1);
    at::Tensor parameter = at::randn({4, 3, 5, 5}).set_requires_grad(true);
    parameter.mutable_grad() = at::randn({4, 3, 5, 5}).contiguous(format);
    make<Optimizer>("{type: sgd, momentum: 0.9}", {{parameter}})->step(0.1);
    return parameter.detach();
  };
  EXPECT_TRUE(
      at::equal(updated(at::MemoryFormat::ChannelsLast), updated(at::MemoryFormat::Contiguous)));
}

TEST(Sgd, nesterov_needs_momentum) {
  const auto error = [](const std::string& yaml) {
    return error_of([&] { make<Optimizer>(yaml, {}); });
  };
  EXPECT_EQ(error("{type: sgd, nesterov: true}"),
            "test.yaml:1:23: optimizer: 'nesterov' needs a momentum above 0 and no dampening");
  EXPECT_EQ(error("{type: sgd, nesterov: true, momentum: 0.9, dampening: 0.1}"),
            "test.yaml:1:23: optimizer: 'nesterov' needs a momentum above 0 and no dampening");
}

}  // namespace
}  // namespace stoker
