#include <cmath>

#include "models/optimizers/warmup.h"

namespace stoker {
namespace {

// Multiplies the rate by gamma after every number of epochs or steps, counted from the beginning of
// the run.
class Step final : public Schedule {
 public:
  struct Options : Warmup {
    std::optional<int64_t> every_epochs;
    std::optional<int64_t> every_steps;
    double gamma = 0.1;
    template <class V>
    void visit(V& v) {
      v("every_epochs", every_epochs,
        "Number of epochs between two decays. Give either this or every_steps.", Limits{1, 1e9});
      v("every_steps", every_steps, "Number of steps between two decays.", Limits{1, 1e12});
      v("gamma", gamma, "Factor by which each decay multiplies the learning rate.", Limits{0, 1});
      Warmup::visit(v);
    }
    void check(const Section& section) const {
      if (every_epochs.has_value() == every_steps.has_value()) {
        section.fail("needs either every_epochs or every_steps: set schedule.every_epochs=30");
      }
      Warmup::check(section);
    }
    ScheduleInfo info() const { return {false}; }
  };
  Step(Options options, const Inputs& inputs)
      : every_(options.every_steps ? *options.every_steps
                                   : *options.every_epochs * inputs.steps_per_epoch),
        gamma_(options.gamma),
        warmup_(options.length(inputs)) {}

  double factor(int64_t step) const override {
    return warmup_factor(step, warmup_) * std::pow(gamma_, static_cast<double>(step / every_));
  }

 private:
  const int64_t every_;
  const double gamma_;
  const int64_t warmup_;
};

STOKER_REGISTER(Schedule, "step", Step);

}  // namespace
}  // namespace stoker
