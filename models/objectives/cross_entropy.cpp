#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "models/objectives/objective.h"

namespace stoker {
namespace {

// Softmax cross-entropy of each sample, or of each pixel of a map, times the weight of its class;
// the mean is over samples or pixels, as TensorFlow's losses have it, and not over the weights, as
// torch::nn::CrossEntropyLoss has it: so the parts of a batch that ranks have add up to the whole.
template <bool kMaps>
class CrossEntropy final : public Loss {
 public:
  struct Options {
    std::vector<double> weights;
    template <class V>
    void visit(V& v) {
      v("weights", weights,
        kMaps
            ? "Weight of each class: how much a pixel of this class counts. If empty, all count 1."
            : "Weight of each class: how much a sample of this class counts. If empty, all count "
              "1.",
        Limits{0, 1e6});
    }
    TargetInfo info() const { return {kMaps}; }
  };

  CrossEntropy(const Options& options, const Inputs& inputs) : smoothing_(inputs.label_smoothing) {
    if (options.weights.empty()) return;
    if (std::cmp_not_equal(options.weights.size(), inputs.classes)) {
      throw Error(ExitCode::config,
                  fmt::format("loss: 'weights' must have one for each of the {} classes, got {}",
                              inputs.classes, options.weights.size()));
    }
    weights_ = at::tensor(options.weights, at::TensorOptions(at::kFloat).device(inputs.device));
  }

  at::Tensor operator()(const at::Tensor& logits, const at::Tensor& targets) const override {
    try {
      return mean(logits, kMaps ? targets.to(at::kLong) : targets);
    } catch (const c10::IndexError& error) {
      const std::string what = error.what_without_backtrace();
      throw Error(ExitCode::data, fmt::format("a target is none of the {} classes: {}",
                                              logits.size(1), what.substr(0, what.find('\n'))));
    }
  }

 private:
  static constexpr int64_t kIgnored = -100;  // no target is

  at::Tensor mean(const at::Tensor& logits, const at::Tensor& targets) const {
    if (!weights_.defined()) {
      return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Mean, kIgnored, smoothing_);
    }
    return at::cross_entropy_loss(logits, targets, weights_, at::Reduction::Sum, kIgnored,
                                  smoothing_)
        .div(static_cast<double>(targets.numel()));
  }

  const double smoothing_;
  at::Tensor weights_;  // undefined: all are 1
};

using OfLabels = CrossEntropy<false>;
using OfPixels = CrossEntropy<true>;
STOKER_REGISTER(Loss, "cross_entropy", OfLabels);
STOKER_REGISTER(Loss, "pixel_cross_entropy", OfPixels);

}  // namespace
}  // namespace stoker
