// A schedule: from the full learning rate down to none.
#include "models/optimizers/optimizer.h"

namespace {

using namespace stoker;

class Linear final : public Schedule {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Linear(Options, const Inputs& inputs) : steps_(static_cast<double>(inputs.total_steps)) {}
  double factor(int64_t step) const override { return 1 - static_cast<double>(step) / steps_; }

 private:
  const double steps_;
};

STOKER_REGISTER(Schedule, "linear", Linear);

}  // namespace
