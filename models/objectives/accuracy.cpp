#include "models/objectives/objective.h"

namespace stoker {
namespace {

// The share of samples whose label was the model's first answer; beside it the other measures of
// label_measures().
class AccuracyMetric final : public Metric {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  AccuracyMetric(Options, const Inputs&) {}

  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    return label_counts(logits, targets);
  }
  std::vector<Measure> measures(const std::vector<int64_t>& counts) const override {
    return label_measures(counts);
  }
};

STOKER_REGISTER(Metric, "accuracy", AccuracyMetric);

}  // namespace
}  // namespace stoker
