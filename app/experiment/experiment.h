#pragma once

#include <memory>

#include "app/experiment/options.h"

namespace stoker {

class Hub;

// The pieces of one experiment, built from its options: the only file that knows how they fit. One
// thread at a time. The constructor opens the device and the data set; loaders, model and optimizer
// are made on request.
class Experiment {
 public:
  Experiment(ExperimentOptions options, Notify notify);
  ~Experiment();

  const ExperimentOptions& options() const { return options_; }
  Hub& hub() { return *hub_; }
  Device& device() { return *device_; }
  const Tiers& tiers() const { return tiers_; }
  const Dataset& dataset() const { return *dataset_; }
  const Decoder& decoder() const { return *decoder_; }

  std::unique_ptr<Loader> make_loader(Split split);
  // The model on the device (of an emulated one: on the host, as if), in the memory format of
  // training.channels_last.
  std::shared_ptr<Model> make_model();
  std::unique_ptr<Optimizer> make_optimizer(const Model& model);
  // For states of these tensors.
  std::unique_ptr<Checkpointer> make_checkpointer(
      std::vector<TensorInfo> tensors, std::function<std::optional<TimePoint>()> stop_requested,
      Notify warn);

 private:
  ExperimentOptions options_;
  Notify notify_;
  std::unique_ptr<Hub> hub_;  // outlives what writes into it
  std::unique_ptr<Device> device_;
  Tiers tiers_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace stoker
