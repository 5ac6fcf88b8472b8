#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/optimizer/optimizer.h"

namespace stoker {
namespace {

// Linear warm-up from 1 / warmup_steps to 1, common to all schedules.
struct Warmup {
  int64_t warmup_steps = 0;
  template <class V>
  void visit(V& v) {
    v("warmup_steps", warmup_steps, "steps over which the rate rises to its full value",
      Limits{0, 1e12});
  }
  double factor(int64_t step) const {
    if (step >= warmup_steps) return 1;
    return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
};

class Constant final : public Schedule {
 public:
  using Options = Warmup;
  Constant(Options options, const Inputs&) : options_(options) {}
  double factor(int64_t step) const override { return options_.factor(step); }

 private:
  const Options options_;
};

class StepDecay final : public Schedule {
 public:
  struct Options : Warmup {
    int64_t every_epochs = 30;
    double gamma = 0.1;
    template <class V>
    void visit(V& v) {
      Warmup::visit(v);
      v("every_epochs", every_epochs, "epochs between two decays", Limits{1, 1e9});
      v("gamma", gamma, "factor of each decay", Limits{0, 1});
    }
  };
  StepDecay(Options options, const Inputs& inputs)
      : options_(options), steps_(options.every_epochs * inputs.steps_per_epoch) {}
  double factor(int64_t step) const override {
    return options_.factor(step) * std::pow(options_.gamma, static_cast<double>(step / steps_));
  }

 private:
  const Options options_;
  const int64_t steps_;
};

// I. Loshchilov, F. Hutter, "SGDR" (ICLR 2017), one period: half a cosine from 1 to `floor` between
// the end of the warm-up and the end of the run.
class Cosine final : public Schedule {
 public:
  struct Options : Warmup {
    double floor = 0;
    template <class V>
    void visit(V& v) {
      Warmup::visit(v);
      v("floor", floor, "share of the full rate at the end of the run", Limits{0, 1});
    }
  };
  Cosine(Options options, const Inputs& inputs)
      : options_(options),
        total_(std::max<int64_t>(1, inputs.total_steps - options.warmup_steps)) {}
  double factor(int64_t step) const override {
    const int64_t done = std::clamp<int64_t>(step - options_.warmup_steps, 0, total_);
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    const double cosine = (1 + std::cos(std::numbers::pi * share)) / 2;
    return options_.factor(step) * (options_.floor + (1 - options_.floor) * cosine);
  }

 private:
  const Options options_;
  const int64_t total_;
};

STOKER_REGISTER(Schedule, "constant", Constant);
STOKER_REGISTER(Schedule, "step", StepDecay);
STOKER_REGISTER(Schedule, "cosine", Cosine);

}  // namespace
}  // namespace stoker
