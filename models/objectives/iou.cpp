#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <fmt/format.h>

#include "io/core/error.h"
#include "models/objectives/objective.h"

namespace stoker {
namespace {

// Intersection over union of a class: pixels that are of it and were said to be, of those that are
// or were. Their mean over the classes that are in either, as tf.metrics.mean_iou has it, from a
// confusion matrix over all pixels of all samples.
class MeanIou final : public Metric {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    TargetInfo info() const { return {true}; }
  };
  MeanIou(Options, const Inputs& inputs) : classes_(inputs.classes) {
    if (classes_ <= kMostClasses) return;
    throw Error(ExitCode::config, fmt::format("metric: iou is for maps of at most {} classes, and "
                                              "the data set has {}",
                                              kMostClasses, classes_));
  }

  // Rows: what a pixel is; columns: what the model said.
  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor cells = targets.to(at::kLong).mul_(classes_).add_(logits.argmax(1));
    at::Tensor matrix = at::bincount(cells.flatten(), {}, classes_ * classes_);
    if (matrix.numel() == classes_ * classes_) return matrix;
    throw Error(ExitCode::data, fmt::format("a map has class {}, and there are {}",
                                            (matrix.numel() - 1) / classes_, classes_));
  }
  std::vector<Measure> measures(const std::vector<int64_t>& counts) const override {
    const auto classes = static_cast<size_t>(classes_);
    double sum = 0;
    int64_t seen = 0;
    for (size_t i = 0; i < classes; ++i) {
      const int64_t both = counts[i * classes + i];
      int64_t either = -both;
      for (size_t j = 0; j < classes; ++j)
        either += counts[i * classes + j] + counts[j * classes + i];
      if (either == 0) continue;
      sum += static_cast<double>(both) / static_cast<double>(either);
      ++seen;
    }
    return {{"iou", sum / static_cast<double>(seen)}};
  }

 private:
  static constexpr int64_t kMostClasses = 256;  // as many as a map of uint8 can have
  const int64_t classes_;
};

STOKER_REGISTER(Metric, "iou", MeanIou);

}  // namespace
}  // namespace stoker
