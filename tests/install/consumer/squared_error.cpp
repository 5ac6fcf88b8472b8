// A loss: the mean squared difference between the shares that the model gives the classes and the
// target's.
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/softmax.h>

#include "models/objectives/objective.h"

namespace {

using namespace stoker;

class SquaredError final : public Loss {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  SquaredError(Options, const Inputs& inputs) : classes_(inputs.classes) {}
  at::Tensor operator()(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor shares = at::softmax(logits, 1);
    return at::mse_loss(shares, at::one_hot(targets, classes_).to(shares.scalar_type()));
  }

 private:
  const int64_t classes_;
};

STOKER_REGISTER(Loss, "squared_error", SquaredError);

}  // namespace
