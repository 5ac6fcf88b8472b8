#include <array>

#include "io/checkpoint/saving/tiered_saves.h"

namespace stoker {
namespace {

struct DirectOptions : CheckpointOptions {
  static constexpr std::array kIdle{"drain_limit", "retry_seconds"};  // it drains nothing
  template <class V>
  void visit(V& v) {
    CheckpointOptions::visit(v);
    if (!slow) slow = TierName{kSlowTier};
  }
  CheckpointerInfo info() const {
    CheckpointerInfo info = CheckpointOptions::info();
    info.written = {slow->name};
    return info;
  }
};

// Writes every set to one tier. With snapshot: sync it is what most training programs do: training
// stands still until the set is durable there.
class Direct final : public TieredSaves {
 public:
  using Options = DirectOptions;
  Direct(const Options& options, const Inputs& inputs)
      : TieredSaves(options, inputs, WriteTo::slow) {}
};

STOKER_REGISTER(Checkpointer, "direct", Direct);

}  // namespace
}  // namespace stoker
