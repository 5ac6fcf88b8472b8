#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "models/optimizers/back_buffer.h"
#include "models/optimizers/optimizer.h"

namespace stoker {
namespace {

// Adam (Kingma and Ba, arXiv:1412.6980, algorithm 1; the weight decay is an L2 penalty) and, with
// decoupled weight decay, AdamW (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2), as
// torch::optim computes them, in one fused kernel over all parameters.
template <bool kDecoupled>
class FusedAdam final : public Optimizer {
 public:
  struct Options {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = kDecoupled ? 1e-2 : 0;
    template <class V>
    void visit(V& v) {
      v("lr", lr, "Learning rate, which the schedule multiplies by its factor.", Limits{0, 1e6});
      v("beta1", beta1, "Decay of the running mean of the gradients, below 1.", Limits{0, 1});
      v("beta2", beta2, "Decay of the running mean of their squares, below 1.", Limits{0, 1});
      v("eps", eps, "Small number that is added to the denominator of the update.", Limits{0, 1});
      v("weight_decay", weight_decay,
        kDecoupled ? "Factor of the decoupled weight decay." : "Factor of the L2 penalty.",
        Limits{0, 1e6});
    }
    void check(const Section& section) const {
      if (beta1 == 1) section.fail("beta1", "must be below 1");
      if (beta2 == 1) section.fail("beta2", "must be below 1");
    }
    OptimizerInfo info() const { return {.out_of_place = true}; }
  };

  FusedAdam(Options options, const Inputs& inputs)
      : options_(options), parameters_(inputs.parameters) {
    for (const at::Tensor& p : parameters_) {
      means_.push_back(at::zeros_like(p));
      squares_.push_back(at::zeros_like(p));
      steps_.push_back(at::zeros({}, p.options().dtype(at::kFloat)));
    }
  }

  void step(double lr) override { step(nullptr, lr); }
  void step_into(BackBuffer& back, double lr) override { step(&back, lr); }
  double base_lr() const override { return options_.lr; }
  std::vector<OptimizerState> state() const override {
    return {{"exp_avg", means_, true}, {"exp_avg_sq", squares_, true}, {"step", steps_}};
  }

 private:
  void step(BackBuffer* back, double lr) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> parameters, gradients, means, squares, steps;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      parameters.push_back(parameters_[i]);
      gradients.push_back(aligned_gradient(parameters_[i]));
      means.push_back(means_[i]);
      squares.push_back(squares_[i]);
      steps.push_back(steps_[i]);
    }
    if (parameters.empty()) return;
    at::_foreach_add_(steps, 1);  // the kernel reads the number of this step
    const BackBuffer::Values values{{parameters, means, squares}, gradients};
    if (back == nullptr) return update(values, steps, lr);
    back->update(values, [&](const BackBuffer::Values& piece, size_t of) {
      update(piece, at::TensorList(steps).slice(of, 1), lr);
    });
  }

  void update(const BackBuffer::Values& values, at::TensorList steps, double lr) const {
    const auto with = [&](auto&& kernel) {
      kernel(values.changed[0], values.gradients, values.changed[1], values.changed[2],
             at::TensorList(), steps, lr, options_.beta1, options_.beta2, options_.weight_decay,
             options_.eps, /*amsgrad=*/false, /*maximize=*/false);
    };
    if constexpr (kDecoupled) {
      with([](auto&&... a) { at::_fused_adamw_(a...); });
    } else {
      with([](auto&&... a) { at::_fused_adam_(a...); });
    }
  }

  const Options options_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> squares_;
  std::vector<at::Tensor> steps_;  // one float each, beside its parameter
};

using Adam = FusedAdam<false>;
using AdamW = FusedAdam<true>;
STOKER_REGISTER(Optimizer, "adam", Adam);
STOKER_REGISTER(Optimizer, "adamw", AdamW);

}  // namespace
}  // namespace stoker
