#include "io/checkpoint/drain/drain_controller.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double kAimed = DrainController::kAllowed / 2;
constexpr double kDecisionS = 0.25;
constexpr double kMemoryS = 10;  // of training, after which what is usual weighs 1/e
constexpr double kKnownS = 0.5;  // of training, before which nothing is usual
constexpr double kCreditS = 0.025;
constexpr double kMostDebtS = 0.25;  // else a drain that had to hurry would slow the next ones

InputTime operator+(InputTime a, InputTime b) {
  return {a.trained_s + b.trained_s, a.waited_s + b.waited_s, a.filled_s + b.filled_s};
}

}  // namespace

void DrainController::rested(InputTime input) {
  const double fade = std::exp(-input.trained_s / kMemoryS);
  usual_ =
      InputTime{fade * usual_.trained_s, fade * usual_.waited_s, fade * usual_.filled_s} + input;
}

void DrainController::set_floor(const Left& left) {
  floor_ = 0;
  if (!left.due_s || left.bytes <= 0) return;
  floor_ = *left.due_s > 0 ? left.bytes / *left.due_s : std::numeric_limits<double>::infinity();
}

void DrainController::begin(const Left& left) {
  limit_ = std::max(kSlowest, limit_ / 2);
  since_ = {};
  drained_ = {};
  extra_ = 0;
  filled_ = 1;
  set_floor(left);
}

// The rest of the time is compute, which is as long as ever.
double DrainController::extra(InputTime input) const {
  const double compute = input.trained_s - input.waited_s;
  const double usual_compute = std::max(usual_.trained_s - usual_.waited_s, 1e-9);
  return input.waited_s - compute * usual_.waited_s / usual_compute;
}

std::optional<DrainDecision> DrainController::passed(const Passed& passed, const Left& left) {
  set_floor(left);
  if (usual_.trained_s < kKnownS) {
    // A drain from the start. It is slow as yet, so that this is as good as usual.
    rested(passed.input);
    return std::nullopt;
  }
  since_.limited = since_.limited || passed.limited;
  since_.input = since_.input + passed.input;
  if (since_.input.trained_s < kDecisionS) return std::nullopt;
  return decide();
}

DrainDecision DrainController::decide() {
  const Passed since = since_;
  since_ = {};
  const double extra_s = extra(since.input);
  const double allowed_s = kAimed * (since.input.trained_s - extra_s);
  drained_ = drained_ + since.input;
  extra_ += extra_s;
  debt_ = std::clamp(debt_ + extra_s - allowed_s, -kCreditS, kMostDebtS);
  const double before = limit();
  limit_ = std::isfinite(before) ? before : limit_;
  const double usual_fill = usual_.filled_s / usual_.trained_s;
  const double fill = since.input.filled_s / since.input.trained_s;
  const bool runs_dry = fill < usual_fill / 4 && fill <= filled_;
  filled_ = fill;
  if (runs_dry || (debt_ > 0 && extra_s > allowed_s)) {
    safe_ = limit_ / 2;
    limit_ = std::max(kSlowest, safe_);
    return floor_ > limit_ ? DrainDecision::hurried : DrainDecision::lowered;
  }
  if (debt_ > 0 || fill < usual_fill / 2 || !since.limited) return DrainDecision::held;
  limit_ = limit_ * 1.25 <= safe_ || std::isinf(safe_) ? limit_ * 1.25 : limit_ + safe_ / 16;
  return DrainDecision::raised;
}

std::optional<double> DrainController::slowdown() const {
  if (drained_.trained_s <= 0) return std::nullopt;
  return extra_ / std::max(drained_.trained_s - extra_, 1e-9);
}

}  // namespace stoker
