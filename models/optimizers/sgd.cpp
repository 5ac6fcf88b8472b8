#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "models/optimizers/back_buffer.h"
#include "models/optimizers/optimizer.h"

namespace stoker {
namespace {

// Stochastic gradient descent as torch::optim::SGD computes it, in one fused kernel over all
// parameters: a plain loop over tensors takes several times as long for AlexNet. Nesterov's
// momentum is Sutskever's form (ICML 2013) as torch applies it, to the gradient.
class Sgd final : public Optimizer {
 public:
  struct Options {
    double lr = 0.01;
    double momentum = 0;
    double dampening = 0;
    double weight_decay = 0;
    bool nesterov = false;
    template <class V>
    void visit(V& v) {
      v("lr", lr, "Learning rate, which the schedule multiplies by its factor.", Limits{0, 1e6});
      v("momentum", momentum,
        "Momentum: the share of the last update that is added to the next one.", Limits{0, 1});
      v("dampening", dampening, "Share of the gradient that is kept out of the momentum.",
        Limits{0, 1});
      v("weight_decay", weight_decay, "Factor of the L2 penalty.", Limits{0, 1e6});
      v("nesterov", nesterov, "Use Nesterov's momentum.");
    }
    void check(const Section& section) const {
      if (nesterov && (momentum == 0 || dampening != 0)) {
        section.fail("nesterov", "needs a momentum above 0 and no dampening");
      }
    }
    OptimizerInfo info() const { return {.out_of_place = true}; }
  };

  Sgd(Options options, const Inputs& inputs) : options_(options), parameters_(inputs.parameters) {
    if (options_.momentum == 0) return;
    for (const at::Tensor& p : parameters_) {
      buffers_.push_back(at::zeros_like(p));
      started_.push_back(at::zeros({}, at::kBool));
    }
  }

  void step(double lr) override { step(nullptr, lr); }
  void step_into(BackBuffer& back, double lr) override { step(&back, lr); }
  double base_lr() const override { return options_.lr; }
  std::vector<OptimizerState> state() const override {
    if (buffers_.empty()) return {};
    return {{"momentum_buffer", buffers_, true}, {"started", started_}};
  }

 private:
  // A parameter's first momentum is its gradient, undamped. The kernel takes one flag for all it is
  // given, so parameters that meet their first gradient are a call of their own.
  struct Group {
    std::vector<at::Tensor> parameters, gradients, buffers;
  };

  void step(BackBuffer* back, double lr) {
    const at::NoGradGuard no_grad;
    Group first, later;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].grad().defined()) continue;
      const bool fresh = !buffers_.empty() && !*started_[i].const_data_ptr<bool>();
      Group& group = fresh ? first : later;
      group.parameters.push_back(parameters_[i]);
      group.gradients.push_back(aligned_gradient(parameters_[i]));
      if (!buffers_.empty()) group.buffers.push_back(buffers_[i]);
      if (fresh) *started_[i].mutable_data_ptr<bool>() = true;
    }
    update(first, back, lr, true);
    update(later, back, lr, false);
  }

  void update(const Group& group, BackBuffer* back, double lr, bool first) const {
    if (group.parameters.empty()) return;
    const auto kernel = [&](const Group& values) {
      at::_fused_sgd_(values.parameters, values.gradients, values.buffers, options_.weight_decay,
                      options_.momentum, lr, options_.dampening, options_.nesterov,
                      /*maximize=*/false, first);
    };
    if (back == nullptr) return kernel(group);
    BackBuffer::Values values{{group.parameters}, group.gradients};
    if (!group.buffers.empty()) values.changed.push_back(group.buffers);
    back->update(values, [&](const BackBuffer::Values& piece, size_t) {
      Group part{piece.changed[0], piece.gradients, {}};
      if (piece.changed.size() > 1) part.buffers = piece.changed[1];
      kernel(part);
    });
  }

  const Options options_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> buffers_;  // empty without momentum
  std::vector<at::Tensor> started_;  // one bool each: it has met a gradient
};

STOKER_REGISTER(Optimizer, "sgd", Sgd);

}  // namespace
}  // namespace stoker
