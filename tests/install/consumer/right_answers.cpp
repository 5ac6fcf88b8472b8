// A metric: the share of samples that the model gets right.
#include <ATen/ops/argmax.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include "models/objectives/objective.h"

namespace {

using namespace stoker;

class RightAnswers final : public Metric {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  RightAnswers(Options, const Inputs&) {}
  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor right = at::eq(at::argmax(logits, 1), targets).sum();
    return at::stack({right, at::full({}, targets.numel(), right.options())});
  }
  std::vector<Measure> measures(const std::vector<int64_t>& counts) const override {
    return {{"right_answers", static_cast<double>(counts[0]) / static_cast<double>(counts[1])}};
  }
};

STOKER_REGISTER(Metric, "right_answers", RightAnswers);

}  // namespace
