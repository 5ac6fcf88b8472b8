#include <ATen/TensorOperators.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <numeric>
#include <span>

#include "io/core/error.h"
#include "models/objectives/objective.h"

namespace stoker {
namespace {

// As tf.metrics.auc places them: evenly over 0 to 1, the first below every probability and the last
// above.
std::vector<float> even_thresholds(int64_t count) {
  constexpr double kBeyond = 1e-7;
  std::vector<float> thresholds;
  for (int64_t i = 0; i < count; ++i) {
    const double even = static_cast<double>(i) / static_cast<double>(count - 1);
    thresholds.push_back(static_cast<float>(i == 0           ? -kBeyond
                                            : i == count - 1 ? 1 + kBeyond
                                                             : even));
  }
  return thresholds;
}

// The area under the curve of true over false positive rates by trapezoids between thresholds, as
// TensorFlow 1 sums it. Element k: how many samples have a probability above exactly the first k
// thresholds.
double area(std::span<const int64_t> positives, std::span<const int64_t> negatives) {
  constexpr double kEpsilon = 1e-6;
  const auto total = [](std::span<const int64_t> counts) {
    return static_cast<double>(std::reduce(counts.begin(), counts.end()));
  };
  const double all_positives = total(positives), all_negatives = total(negatives);
  double above_positives = all_positives, above_negatives = all_negatives;
  double sum = 0, last_recall = 0, last_fall_out = 0;
  for (size_t i = 0; i + 1 < positives.size(); ++i) {
    above_positives -= static_cast<double>(positives[i]);
    above_negatives -= static_cast<double>(negatives[i]);
    const double recall = (above_positives + kEpsilon) / (all_positives + kEpsilon);
    const double fall_out = above_negatives / (all_negatives + kEpsilon);
    if (i > 0) sum += (last_fall_out - fall_out) * (last_recall + recall) / 2;
    last_recall = recall;
    last_fall_out = fall_out;
  }
  return sum;
}

// The area under the receiver operating characteristic of class 1 of two, over all samples; beside
// it their accuracy.
class Auc final : public Metric {
 public:
  struct Options {
    int64_t thresholds = 5000;
    template <class V>
    void visit(V& v) {
      v("thresholds", thresholds,
        "Number of points on the curve, spaced evenly over the probability of class 1.",
        Limits{3, 1'000'000});
    }
  };
  Auc(Options options, const Inputs& inputs)
      : thresholds_(at::tensor(even_thresholds(options.thresholds))),
        labels_(static_cast<size_t>(label_count_size(inputs.classes))) {
    if (inputs.classes == 2) return;
    throw Error(ExitCode::config, fmt::format("metric: auc needs a data set of 2 classes, and this "
                                              "one has {}: set evaluation.metric.type=accuracy",
                                              inputs.classes));
  }

  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor probability = at::softmax(logits, 1).select(1, 1).contiguous();
    const int64_t last = thresholds_.size(0);
    const at::Tensor above =
        at::where(probability.isnan(), targets.eq(0).mul(last),
                  at::bucketize(probability, thresholds_.to(probability.device())));
    return at::cat({label_counts(logits, targets),
                    occurrences(above + targets.eq(0).mul(last + 1), 2 * (last + 1))});
  }
  std::vector<Measure> measures(const std::vector<int64_t>& counts) const override {
    const std::span all(counts);
    const std::span curve = all.subspan(labels_);
    const size_t half = curve.size() / 2;
    std::vector<Measure> result{{"auc", area(curve.first(half), curve.subspan(half))}};
    for (const Measure& of_labels : label_measures(all.first(labels_))) result.push_back(of_labels);
    return result;
  }

 private:
  const at::Tensor thresholds_;
  const size_t labels_;  // counts of the accuracy
};

STOKER_REGISTER(Metric, "auc", Auc);

}  // namespace
}  // namespace stoker
