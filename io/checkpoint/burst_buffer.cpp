#include "io/checkpoint/saving/tiered_saves.h"

namespace stoker {
namespace {

struct BurstBufferOptions : CheckpointOptions {
  template <class V>
  void visit(V& v) {
    CheckpointOptions::visit(v);
    if (!fast) fast = TierName{kFastTier};
    if (!slow) slow = TierName{kSlowTier};
  }
  void check(const Section& section) const {
    CheckpointOptions::check(section);
    if (fast->name == slow->name) section.fail("slow", "must be another tier than fast");
  }
  CheckpointerInfo info() const {
    CheckpointerInfo info = CheckpointOptions::info();
    info.written = {fast->name, slow->name};
    return info;
  }
};

// The burst buffer of Chien et al., "Characterizing Deep-Learning I/O Workloads in TensorFlow"
// (arXiv:1810.03035): sets are written to a fast tier and copied to the slow one while training
// goes on.
class BurstBuffer final : public TieredSaves {
 public:
  using Options = BurstBufferOptions;
  BurstBuffer(const Options& options, const Inputs& inputs)
      : TieredSaves(options, inputs, WriteTo::fast) {}
};

STOKER_REGISTER(Checkpointer, "burst_buffer", BurstBuffer);

}  // namespace
}  // namespace stoker
