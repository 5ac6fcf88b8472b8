// A checkpointer that writes the tensors of the run's end into one object of any tier.
#include "io/checkpoint/checkpointer.h"

namespace {

using namespace stoker;

class LastWeights final : public Checkpointer {
 public:
  struct Options {
    TierName storage;
    template <class V>
    void visit(V& v) {
      v.required("storage", storage, "tier that is written to");
    }
    CheckpointerInfo info() const { return {.tiers = {storage.name}, .written = {storage.name}}; }
  };
  LastWeights(const Options& options, const Inputs& inputs)
      : tier_(inputs.tiers.at(options.storage.name)),
        key_(inputs.directory + ".weights"),
        tensors_(inputs.tensors) {}

  std::optional<LoadedState> load() override { return std::nullopt; }
  bool save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) override {
    if (!offer.last || offer.step == status_.saved_step) return false;
    const TrainingState now = state();
    const auto writer = tier_.create(key_);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      writer->append({now.tensors[i], tensors_[i].bytes});
      status_.set_bytes += tensors_[i].bytes;
    }
    writer->commit();
    ++status_.saved;
    status_.saved_step = status_.durable_step = offer.step;
    return false;
  }
  std::optional<StatePlaces> finish_copy() override { return std::nullopt; }
  bool flush() override { return true; }
  CheckpointStatus status() override { return status_; }

 private:
  Storage& tier_;
  const std::string key_;
  const std::vector<TensorInfo> tensors_;
  CheckpointStatus status_;
};

STOKER_REGISTER(Checkpointer, "last_weights", LastWeights);

}  // namespace
