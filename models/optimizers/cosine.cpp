#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/optimizers/warmup.h"

namespace stoker {
namespace {

// Half a cosine from the end of the warm-up to the end of the run: Loshchilov and Hutter, "SGDR"
// (arXiv:1608.03983), equation 5, one period.
class Cosine final : public Schedule {
 public:
  struct Options : Warmup {
    double floor = 0;
    template <class V>
    void visit(V& v) {
      v("floor", floor, "Share of the full learning rate that is left at the end.", Limits{0, 1});
      Warmup::visit(v);
    }
  };
  Cosine(Options options, const Inputs& inputs)
      : floor_(options.floor),
        warmup_(options.length(inputs)),
        // A run that ends during its warm-up does not reach the cosine.
        period_(std::max<int64_t>(inputs.total_steps - warmup_, 1)) {}

  double factor(int64_t step) const override {
    const int64_t done = std::clamp<int64_t>(step - warmup_, 0, period_);
    const double angle =
        std::numbers::pi * static_cast<double>(done) / static_cast<double>(period_);
    return warmup_factor(step, warmup_) * (floor_ + (1 - floor_) * (1 + std::cos(angle)) / 2);
  }

 private:
  const double floor_;
  const int64_t warmup_;
  const int64_t period_;
};

STOKER_REGISTER(Schedule, "cosine", Cosine);

}  // namespace
}  // namespace stoker
