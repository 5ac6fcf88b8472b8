#include "models/optimizers/warmup.h"

namespace stoker {
namespace {

// The configured rate throughout.
class Constant final : public Schedule {
 public:
  struct Options : Warmup {
    ScheduleInfo info() const { return {false}; }
  };
  Constant(Options options, const Inputs& inputs) : warmup_(options.length(inputs)) {}
  double factor(int64_t step) const override { return warmup_factor(step, warmup_); }

 private:
  const int64_t warmup_;
};

STOKER_REGISTER(Schedule, "constant", Constant);

}  // namespace
}  // namespace stoker
