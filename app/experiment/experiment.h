#pragma once

#include <memory>

#include "app/experiment/options.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/ranks/ranks.h"
#include "io/experiment/experiment_data.h"

namespace stoker {

// The pieces of one experiment, built from its options: the only file that knows how they fit. The
// constructor opens the device, then the data set; Error and IoError as theirs. Owns what it gives
// references to; what the make_...() functions return refers to it and must not outlive it. One
// thread at a time; the pieces as their own headers say.
class Experiment {
 public:
  // notify: gets what the components remark, perhaps from other threads. May be empty. ranks: whose
  // part of the data the loaders load. group: all of them, who read and save together. All ranks
  // make the same loaders in the same order.
  Experiment(ExperimentOptions options, Notify notify, Ranks ranks = {},
             RankGroup& group = alone());

  const ExperimentOptions& options() const { return options_; }
  const Ranks& ranks() const { return ranks_; }
  Hub& hub() { return data_.hub(); }
  Device& device() { return *device_; }
  const Tiers& tiers() const { return data_.tiers(); }
  const Dataset& dataset() const { return data_.dataset(); }
  const Decoder& decoder() const { return data_.decoder(); }
  // The files of the tier that the data set reads; null: there are none.
  const FileTree* files() const { return data_.files(); }

  // How the steps of an emulated device end with those of other ranks; to be set before the first.
  StepExchange& exchange() { return exchange_; }
  // A loader that has not been started. Its figures go into the hub, by split.
  std::unique_ptr<Loader> make_loader(Split split);
  // The batch on the device: where it lies already, or a copy, which may be under way.
  std::shared_ptr<DeviceBatch> on_device(const Batch& batch);
  // The first training batch, on the device, by a loader of its own: to run it again and again.
  // Error(ExitCode::data) where there is none.
  std::shared_ptr<DeviceBatch> first_batch();
  // The model on the device (of an emulated one: on the host, as if), in the memory format of
  // training.channels_last. Its weights come from LibTorch's generator.
  std::unique_ptr<Model> make_model();
  // For that model; shares its parameters.
  std::unique_ptr<Optimizer> make_optimizer(const Model& model);
  // Error(ExitCode::config) where it is of maps and the samples have none, or the other way round.
  std::unique_ptr<Loss> make_loss();
  std::unique_ptr<Metric> make_metric();
  // For states of these tensors, in this order. stop_requested: since when the process has been
  // asked to end. warn: what the user has to see.
  std::unique_ptr<Checkpointer> make_checkpointer(
      std::vector<TensorInfo> tensors, std::function<std::optional<TimePoint>()> stop_requested,
      Notify warn);

 private:
  // Of labels or maps.
  int64_t classes() const { return static_cast<int64_t>(dataset().classes().size()); }
  // Where the model lies: of an emulated device on the host, as if.
  at::Device computing_device() const;

  ExperimentOptions options_;
  Notify notify_;
  const Ranks ranks_;
  StepExchange exchange_;
  RankGroup& group_;
  int64_t loaders_made_ = 0;
  std::unique_ptr<Device> device_;
  ExperimentData data_;
};

}  // namespace stoker
