#include "models/optimizers/warmup.h"

namespace stoker {

void Warmup::check(const Section& section) const {
  if (steps && epochs) section.fail("warmup_epochs", "cannot be given beside warmup_steps");
}

int64_t Warmup::length(const Schedule::Inputs& inputs) const {
  return steps.value_or(epochs.value_or(0) * inputs.steps_per_epoch);
}

double warmup_factor(int64_t step, int64_t length) {
  if (step >= length) return 1;
  return static_cast<double>(step + 1) / static_cast<double>(length + 1);
}

}  // namespace stoker
