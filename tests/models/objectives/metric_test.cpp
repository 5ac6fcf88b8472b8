#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "io/core/error.h"
#include "tests/models/objectives/objectives.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

// Logits by which the label has this rank (0 = first) of ten classes.
at::Tensor with_rank(int64_t label, int64_t rank) {
  std::vector<double> logits(10, 0);
  int64_t ahead = rank;
  for (int64_t i = 0; i < 10; ++i) {
    if (i != label && ahead-- > 0) logits[static_cast<size_t>(i)] = 2;
  }
  logits[static_cast<size_t>(label)] = 1;
  return at::tensor(logits, at::kFloat);
}

// On a device without memory nothing can be read back, and a step that reads something back waits
// for the device.
TEST(Accuracy, reads_nothing_back_while_it_counts) {
  const at::TensorOptions meta = at::TensorOptions().device(at::kMeta);
  const at::Tensor labels = at::zeros({8}, meta.dtype(at::kLong));
  EXPECT_EQ(
      create<Metric>("{type: accuracy}", {10})->count(at::zeros({8, 10}, meta), labels).size(0),
      21);
}

TEST(Accuracy, top1_top5_and_the_mean_over_classes) {
  // Class 0: three of four right. Class 1: none of one right, its label is second.
  const at::Tensor logits = at::stack(
      {with_rank(0, 0), with_rank(0, 0), with_rank(0, 0), with_rank(0, 7), with_rank(1, 1)});
  const auto [values, names] =
      measure("{type: accuracy}", {logits}, {at::tensor({0, 0, 0, 0, 1}, at::kLong)});
  EXPECT_EQ(names.front(), "top1");  // the score
  EXPECT_EQ(values, (std::map<std::string, double>{{"top1", 3.0 / 5},
                                                   {"top5", 4.0 / 5},
                                                   {"mean_per_class", (0.75 + 0) / 2},
                                                   {"chance", 0.1},
                                                   {"largest_class", 4.0 / 5}}));
}

TEST(Accuracy, ties_and_what_is_no_number_count_against_the_model) {
  for (const double same : {0.0, std::nan("")}) {
    EXPECT_EQ(measure("{type: accuracy}", {at::full({3, 8}, same)}, {at::zeros({3}, at::kLong)})
                  .values.at("top5"),
              0);
  }
}

TEST(Accuracy, counts_of_batches_add_up) {
  at::manual_seed(2);
  const at::Tensor logits = at::randn({20, 6}), labels = at::randint(6, {20}, at::kLong);
  EXPECT_EQ(measure("{type: accuracy}", {logits}, {labels}).values,
            measure("{type: accuracy}", {logits.narrow(0, 0, 7), logits.narrow(0, 7, 13)},
                    {labels.narrow(0, 0, 7), labels.narrow(0, 7, 13)})
                .values);
}

// Of two classes, those of class 1 by `shift` more likely.
struct Binary {
  at::Tensor logits;
  at::Tensor labels;
};

Binary binary(int64_t samples, double shift) {
  at::manual_seed(5);
  const at::Tensor labels = at::randint(2, {samples}, at::kLong);
  const at::Tensor logits = at::randn({samples, 2});
  logits.select(1, 1).add_(labels.to(at::kFloat), shift);
  return {logits, labels};
}

// As tf.metrics.auc of TensorFlow 1 says it: a confusion matrix for every threshold.
double thresholded_auc(const Binary& of, int64_t thresholds) {
  const at::Tensor score = at::softmax(of.logits, 1).select(1, 1).contiguous();
  double sum = 0, last_x = 0, last_y = 0;
  for (int64_t i = 0; i < thresholds; ++i) {
    double threshold = static_cast<double>(i) / static_cast<double>(thresholds - 1);
    if (i == 0) threshold = -1e-7;
    if (i == thresholds - 1) threshold = 1 + 1e-7;
    double tp = 0, fp = 0, fn = 0, tn = 0;
    for (int64_t k = 0; k < score.size(0); ++k) {
      const bool above = score.const_data_ptr<float>()[k] > static_cast<float>(threshold);
      const bool positive = of.labels.const_data_ptr<int64_t>()[k] == 1;
      (positive ? (above ? tp : fn) : (above ? fp : tn)) += 1;
    }
    const double y = (tp + 1e-6) / (tp + fn + 1e-6), x = fp / (fp + tn + 1e-6);
    if (i > 0) sum += (last_x - x) * (last_y + y) / 2;
    last_x = x;
    last_y = y;
  }
  return sum;
}

// The share of pairs of a positive and a negative that are in the right order.
double ordered_pairs(const Binary& of) {
  const at::Tensor margin = of.logits.select(1, 1) - of.logits.select(1, 0);
  const at::Tensor positive = margin.masked_select(of.labels.eq(1)).unsqueeze(1);
  const at::Tensor negative = margin.masked_select(of.labels.eq(0)).unsqueeze(0);
  return positive.gt(negative).to(at::kDouble).mean().item<double>();
}

TEST(Auc, is_tensorflows_sum_over_thresholds) {
  const Binary of = binary(300, 1);
  for (const int64_t thresholds : {3, 50, 500}) {
    const auto yaml = "{type: auc, thresholds: " + std::to_string(thresholds) + "}";
    EXPECT_NEAR(measure(yaml, {of.logits}, {of.labels}).values.at("auc"),
                thresholded_auc(of, thresholds), 1e-12);
  }
}

TEST(Auc, with_5000_thresholds_is_the_share_of_pairs_in_order) {
  const Binary of = binary(2000, 1.5);
  const auto [values, names] = measure("{type: auc}", {of.logits}, {of.labels});
  EXPECT_EQ(names.front(), "auc");  // the score
  EXPECT_NEAR(values.at("auc"), ordered_pairs(of), 1e-3);
  EXPECT_NEAR(values.at("auc"), 0.773, 0.03);  // margins are N(1.5, sqrt 2) and N(0, sqrt 2)
}

TEST(Auc, has_the_accuracy_beside_it) {
  const Binary of = binary(200, 2);
  std::map<std::string, double> values = measure("{type: auc}", {of.logits}, {of.labels}).values;
  values.erase("auc");
  EXPECT_EQ(values, measure("{type: accuracy}", {of.logits}, {of.labels}).values);
}

TEST(Auc, counts_of_batches_add_up) {
  const Binary of = binary(100, 1);
  EXPECT_EQ(measure("{type: auc}", {of.logits}, {of.labels}).values,
            measure("{type: auc}", {of.logits.narrow(0, 0, 30), of.logits.narrow(0, 30, 70)},
                    {of.labels.narrow(0, 0, 30), of.labels.narrow(0, 30, 70)})
                .values);
}

TEST(Auc, what_is_no_number_counts_against_the_model) {
  const at::Tensor labels = at::tensor({0, 0, 1, 1}, at::kLong);
  const auto nothing = at::full({4, 2}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_LT(measure("{type: auc}", {nothing}, {labels}).values.at("auc"), 1e-3);
}

TEST(Auc, is_for_two_classes) {
  EXPECT_EQ(error_of([] { create<Metric>("{type: auc}", {3}); }),
            "metric: auc needs a data set of 2 classes, and this one has 3: set "
            "evaluation.metric.type=accuracy");
}

TEST(Iou, is_the_mean_over_classes_of_a_confusion_matrix) {
  // Two maps of 2 x 3 pixels; what they are, and what the model says.
  const at::Tensor maps =
      at::tensor({0, 0, 0, 0, 1, 1, /**/ 0, 0, 2, 2, 1, 0}, at::kByte).view({2, 2, 3});
  const at::Tensor said =
      at::tensor({0, 0, 1, 0, 1, 0, /**/ 0, 2, 2, 2, 1, 0}, at::kLong).view({2, 2, 3});
  const at::Tensor logits = at::one_hot(said, 3).permute({0, 3, 1, 2}).to(at::kFloat);
  const auto [values, names] = measure("{type: iou}", {logits}, {maps});
  EXPECT_EQ(names, std::vector<std::string>{"iou"});
  // Class 0: 5 of both, 7 that are, 6 that were said; 1: 2, 3, 3; 2: 2, 2, 3.
  EXPECT_DOUBLE_EQ(values.at("iou"), (5.0 / 8 + 2.0 / 4 + 2.0 / 3) / 3);
}

TEST(Iou, leaves_out_a_class_that_nobody_has_seen) {
  const at::Tensor maps = at::zeros({1, 2, 2}, at::kByte);
  const at::Tensor logits = at::zeros({1, 3, 2, 2});
  logits.select(1, 0).fill_(1);
  EXPECT_DOUBLE_EQ(measure("{type: iou}", {logits}, {maps}).values.at("iou"), 1);
}

TEST(Iou, a_pixel_that_is_no_class_is_an_error_of_the_data) {
  EXPECT_EQ(
      error_of([] {
        measure("{type: iou}", {at::zeros({1, 3, 2, 2})}, {at::full({1, 2, 2}, 5, at::kByte)});
      }),
      "a map has class 5, and there are 3");
}

}  // namespace
}  // namespace stoker
