#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include "app/experiment/experiment.h"
#include "tests/models/networks/models.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

TEST(Precision, bf16_runs_convolutions_and_products_in_bf16) {
  const at::Tensor x = at::randn({2, 3, 8, 8});
  const at::Tensor kernel = at::randn({4, 3, 3, 3});
  const at::Tensor weight = at::randn({5, 8});
  const PrecisionScope scope(Precision::bf16, at::kCPU);
  EXPECT_EQ(at::conv2d(x, kernel).scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::linear(x, weight).scalar_type(), at::kBFloat16);
  EXPECT_EQ(x.add(x).scalar_type(), at::kFloat);
}

TEST(Precision, fp32_changes_nothing_and_bf16_ends_with_its_scope) {
  const at::Tensor x = at::randn({2, 3, 8, 8});
  const at::Tensor kernel = at::randn({4, 3, 3, 3});
  { const PrecisionScope scope(Precision::bf16, at::kCPU); }
  EXPECT_EQ(at::conv2d(x, kernel).scalar_type(), at::kFloat);
  const PrecisionScope scope(Precision::fp32, at::kCPU);
  EXPECT_EQ(at::conv2d(x, kernel).scalar_type(), at::kFloat);
}

TEST(Precision, every_model_has_fp32_gradients_of_bf16_logits) {
  size_t number = 0;
  for (const std::string& type : Registry<Model>::global().names()) {
    if (number++ % stride(2) != 0) continue;
    const Model::Inputs inputs{3, 64, 64, 2};
    const auto model = make_model("{type: " + type + "}", inputs);
    at::Tensor logits;
    {
      const PrecisionScope scope(Precision::bf16, at::kCPU);
      logits = model->forward(images(1, inputs));
    }
    EXPECT_EQ(logits.scalar_type(), at::kBFloat16) << type;
    logits.to(at::kFloat).square().sum().backward();
    for (const at::Tensor& parameter : parameters(*model)) {
      EXPECT_EQ(parameter.scalar_type(), at::kFloat);
      EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat);
    }
  }
}

TEST(Precision, bf16_logits_are_the_fp32_ones_to_two_digits) {
  const Model::Inputs inputs{3, 112, 112, 10};
  const auto model = make_model("{type: alexnet}", inputs);
  model->set_training(false);
  const at::Tensor x = images(2, inputs);
  const at::Tensor exact = model->forward(x);
  const PrecisionScope scope(Precision::bf16, at::kCPU);
  const at::Tensor rounded = model->forward(x).to(at::kFloat);
  EXPECT_LT((rounded - exact).abs().max().item<double>(), 0.02 * exact.abs().max().item<double>());
}

}  // namespace
}  // namespace stoker
