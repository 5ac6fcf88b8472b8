// An optimizer: each weight moves by the learning rate against its gradient's sign.
#include <ATen/core/grad_mode.h>

#include "models/optimizers/optimizer.h"

namespace {

using namespace stoker;

class SignDescent final : public Optimizer {
 public:
  struct Options {
    double lr = 1e-3;
    template <class V>
    void visit(V& v) {
      v("lr", lr, "learning rate", Limits{0, 1e6});
    }
  };
  SignDescent(Options options, const Inputs& inputs)
      : lr_(options.lr), parameters_(inputs.parameters) {}

  void step(double lr) override {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : parameters_) {
      if (parameter.grad().defined()) parameter.sub_(parameter.grad().sign(), lr);
    }
  }
  double base_lr() const override { return lr_; }
  std::vector<OptimizerState> state() const override { return {}; }

 private:
  const double lr_;
  std::vector<at::Tensor> parameters_;
};

STOKER_REGISTER(Optimizer, "sign_descent", SignDescent);

}  // namespace
