#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "app/optimizer/optimizer.h"

namespace stoker {
namespace {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  template <class V>
  void visit(V& v) {
    v("lr", lr, "learning rate", Limits{0, 1e6});
    v("beta1", beta1, "decay of the mean of the gradients", Limits{0, 1});
    v("beta2", beta2, "decay of the mean of their squares", Limits{0, 1});
    v("eps", eps, "added to the denominator", Limits{0, 1});
    v("weight_decay", weight_decay, "adam: L2 penalty; adamw: decoupled decay", Limits{0, 1e6});
  }
};

// Adam (D. Kingma, J. Ba, ICLR 2015) and AdamW (I. Loshchilov, F. Hutter, ICLR 2019) as
// torch::optim computes them, in one fused kernel over all parameters.
class AdamBase : public Optimizer {
 public:
  using Options = AdamOptions;
  AdamBase(Options options, const Inputs& inputs, bool decoupled)
      : options_(options), decoupled_(decoupled), parameters_(inputs.parameters) {
    for (const torch::Tensor& p : parameters_) {
      means_.push_back(at::zeros_like(p));
      squares_.push_back(at::zeros_like(p));
      steps_.push_back(at::zeros({}, p.options().dtype(torch::kFloat32)));
    }
  }

  void step(double lr) override {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> parameters, gradients, means, squares, steps;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      parameters.push_back(parameters_[i]);
      gradients.push_back(parameters_[i].grad());
      means.push_back(means_[i]);
      squares.push_back(squares_[i]);
      steps.push_back(steps_[i].add_(1));
    }
    if (parameters.empty()) return;
    const auto update = [&](auto&& fused) {
      fused(parameters, gradients, means, squares, at::TensorList(), steps, lr, options_.beta1,
            options_.beta2, options_.weight_decay, options_.eps, false, false);
    };
    if (decoupled_) {
      update([](auto&&... a) { at::_fused_adamw_(a...); });
    } else {
      update([](auto&&... a) { at::_fused_adam_(a...); });
    }
  }
  double base_lr() const override { return options_.lr; }

 private:
  const Options options_;
  const bool decoupled_;
  std::vector<torch::Tensor> parameters_, means_, squares_, steps_;
};

class Adam final : public AdamBase {
 public:
  Adam(Options options, const Inputs& inputs) : AdamBase(options, inputs, false) {}
};

class AdamW final : public AdamBase {
 public:
  AdamW(Options options, const Inputs& inputs) : AdamBase(options, inputs, true) {}
};

STOKER_REGISTER(Optimizer, "adam", Adam);
STOKER_REGISTER(Optimizer, "adamw", AdamW);

}  // namespace
}  // namespace stoker
