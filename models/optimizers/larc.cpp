#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <memory>
#include <utility>
#include <vector>

#include "models/optimizers/optimizer.h"

namespace stoker {
namespace {

// How a parameter's own rate is used: it bounds the rate of the step, or multiplies it.
enum class LarcMode { clip, scale };
EnumNames<LarcMode> enum_names(LarcMode) {
  return {{"clip", LarcMode::clip}, {"scale", LarcMode::scale}};
}

// Layer-wise adaptive rate control around another optimizer (You et al., arXiv:1708.03888, equation
// 6; the clipping is of NVIDIA's apex): a parameter's rate is trust * |p| / (|g| + weight_decay *
// |p| + epsilon), and its gradient is scaled so that the inner optimizer has that rate, or in mode
// clip the smaller of both. Parameters or gradients that are zero are left as they are. All on the
// device; nothing is waited for.
class Larc final : public Optimizer {
 public:
  struct Options {
    double trust = 0.02;
    LarcMode mode = LarcMode::clip;
    double epsilon = 1e-8;
    double weight_decay = 0;
    Component<Optimizer> inner = default_component<Optimizer>("sgd");
    template <class V>
    void visit(V& v) {
      v("trust", trust,
        "Trust coefficient. The own rate of a parameter is this times its norm over the norm of "
        "its gradient.",
        Limits{1e-9, 1e6});
      v("mode", mode,
        "clip: a parameter's rate is at most the optimizer's. scale: it is multiplied by the "
        "optimizer's.");
      v("epsilon", epsilon, "Small number that is added to the norm of the gradient.",
        Limits{0, 1});
      v("weight_decay", weight_decay,
        "Factor of the L2 penalty, applied before the scaling. Leave that of the inner optimizer "
        "at 0.",
        Limits{0, 1e6});
      v("inner", inner, "The optimizer that makes the step.");
    }
  };

  Larc(Options options, const Inputs& inputs)
      : options_(std::move(options)),
        parameters_(inputs.parameters),
        inner_(options_.inner.create(inputs)) {}

  void step(double lr) override {
    scale(lr);
    inner_->step(lr);
  }
  void step_into(BackBuffer& back, double lr) override {
    scale(lr);
    inner_->step_into(back, lr);
  }
  double base_lr() const override { return inner_->base_lr(); }
  std::vector<OptimizerState> state() const override { return inner_->state(); }

 private:
  void scale(double lr) const {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> parameters, gradients;
    for (const at::Tensor& p : parameters_) {
      if (!p.grad().defined()) continue;
      parameters.push_back(p);
      gradients.push_back(p.grad());
    }
    if (!parameters.empty()) scale(parameters, gradients, lr);
  }
  void scale(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             double lr) const {
    const at::Tensor p = at::stack(at::_foreach_norm(parameters));
    const at::Tensor g = at::stack(at::_foreach_norm(gradients));
    at::Tensor rate =
        p.mul(options_.trust).div(p.mul(options_.weight_decay).add(g).add(options_.epsilon));
    if (options_.mode == LarcMode::clip) rate = rate.div(lr).clamp_max(1);
    const at::Tensor known = p.ne(0).logical_and(g.ne(0));
    if (options_.weight_decay != 0) {
      const std::vector<at::Tensor> decay =
          known.to(p.scalar_type()).mul(options_.weight_decay).unbind();
      at::_foreach_add_(gradients, at::_foreach_mul(parameters, decay));
    }
    at::_foreach_mul_(gradients, at::where(known, rate, 1.0).to(p.scalar_type()).unbind());
  }

  const Options options_;
  const std::vector<at::Tensor> parameters_;
  const std::unique_ptr<Optimizer> inner_;
};

STOKER_REGISTER(Optimizer, "larc", Larc);

}  // namespace
}  // namespace stoker
