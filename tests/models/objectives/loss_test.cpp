#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include "io/core/error.h"
#include "tests/models/objectives/objectives.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

struct Labelled {
  at::Tensor logits;
  at::Tensor targets;
};

Labelled labels() {
  at::manual_seed(3);
  return {at::randn({7, 4}), at::randint(4, {7}, at::kLong)};
}

Labelled maps() {
  at::manual_seed(4);
  return {at::randn({2, 3, 5, 6}), at::randint(3, {2, 5, 6}, at::kLong)};
}

// Of each sample or pixel: minus the logarithm of its class's probability.
at::Tensor surprise(const Labelled& of) {
  return at::log_softmax(of.logits, 1).gather(1, of.targets.unsqueeze(1)).squeeze(1).neg();
}

TEST(Loss, cross_entropy_is_that_of_libtorch_to_the_bit) {
  const Labelled of = labels();
  for (const double smoothing : {0.0, 0.1}) {
    EXPECT_EQ(
        loss_of("{type: cross_entropy}", of.logits, of.targets, smoothing),
        at::cross_entropy_loss(of.logits, of.targets, {}, at::Reduction::Mean, -100, smoothing)
            .item<double>());
  }
}

TEST(Loss, weights_count_samples_and_their_number_is_the_divisor) {
  const Labelled of = labels();
  const at::Tensor weights = at::tensor({0.5, 2.0, 0.0, 1.0});
  EXPECT_NEAR(loss_of("{type: cross_entropy, weights: [0.5, 2, 0, 1]}", of.logits, of.targets),
              (surprise(of) * weights.index_select(0, of.targets)).mean().item<double>(), 1e-6);
}

TEST(Loss, of_maps_is_the_mean_over_pixels) {
  const Labelled of = maps();
  EXPECT_NEAR(loss_of("{type: pixel_cross_entropy}", of.logits, of.targets),
              surprise(of).mean().item<double>(), 1e-6);
  const at::Tensor weights = at::tensor({0.001, 0.9, 0.099}).index_select(0, of.targets.flatten());
  EXPECT_NEAR(
      loss_of("{type: pixel_cross_entropy, weights: [0.001, 0.9, 0.099]}", of.logits, of.targets),
      (surprise(of).flatten() * weights).mean().item<double>(), 1e-6);
}

TEST(Loss, maps_may_be_bytes) {
  const Labelled of = maps();
  EXPECT_EQ(loss_of("{type: pixel_cross_entropy}", of.logits, of.targets.to(at::kByte)),
            loss_of("{type: pixel_cross_entropy}", of.logits, of.targets));
}

TEST(Loss, of_a_whole_batch_is_that_of_its_parts_by_their_samples) {
  const Labelled of = labels();
  const char* yaml = "{type: cross_entropy, weights: [0.5, 2, 0, 1]}";
  const double first = loss_of(yaml, of.logits.narrow(0, 0, 2), of.targets.narrow(0, 0, 2));
  const double rest = loss_of(yaml, of.logits.narrow(0, 2, 5), of.targets.narrow(0, 2, 5));
  EXPECT_NEAR(loss_of(yaml, of.logits, of.targets), (2 * first + 5 * rest) / 7, 1e-6);
}

TEST(Loss, a_pixel_that_is_no_class_is_an_error_of_the_data) {
  const Labelled of = maps();
  try {
    loss_of("{type: pixel_cross_entropy}", of.logits, at::full({2, 5, 6}, 3, at::kByte));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_TRUE(std::string(error.what()).starts_with("a target is none of the 3 classes: "));
  }
}

TEST(Loss, weights_are_one_for_each_class) {
  const Labelled of = labels();
  EXPECT_EQ(
      error_of([&] { loss_of("{type: cross_entropy, weights: [1, 2]}", of.logits, of.targets); }),
      "loss: 'weights' must have one for each of the 4 classes, got 2");
}

}  // namespace
}  // namespace stoker
