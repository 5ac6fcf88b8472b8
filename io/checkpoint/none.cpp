#include <array>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"

namespace stoker {
namespace {

struct NoneOptions : CheckpointOptions {
  static constexpr std::array kIdle{"*"};
  void check(const Section& section) const {
    CheckpointOptions::check(section);
    if (resume.value == "none" || resume.value == "latest") return;
    section.fail(
        "resume",
        "type: none restores nothing: set checkpoint.type=direct to go on from " + resume.value);
  }
  CheckpointerInfo info() const {
    CheckpointerInfo info = CheckpointOptions::info();
    info.saves = false;
    return info;
  }
};

// No checkpoints: what they cost is measured against it.
class None final : public Checkpointer {
 public:
  using Options = NoneOptions;
  None(const Options&, const Inputs&) {}
  std::optional<LoadedState> load() override { return std::nullopt; }
  bool save(const CheckpointOffer&, const std::function<TrainingState()>&) override {
    return false;
  }
  std::optional<StatePlaces> finish_copy() override { return std::nullopt; }
  bool flush() override { return true; }
  CheckpointStatus status() override { return {}; }
};

STOKER_REGISTER(Checkpointer, "none", None);

}  // namespace
}  // namespace stoker
