#pragma once

#include <c10/core/DeviceType.h>

#include <memory>

#include "app/experiment/experiment_options.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/ranks/ranks.h"
#include "io/experiment/experiment_data.h"

namespace stoker {

// The pieces of one experiment, built from its options: the only file that knows how they fit. The
// constructor opens the device, then the data set, and throws their Error and IoError. Owns what it
// gives references to. What the make_...() functions return refers to it and must not outlive it.
// One thread at a time; for the pieces their own headers say it.
class Experiment {
 public:
  // notify: gets messages of the components for the user, perhaps from other threads. May be empty.
  // ranks: whose part of the data the loaders load. group: all of them, who read and save together.
  // All ranks make the same loaders in the same order.
  Experiment(ExperimentOptions options, Notify notify, Ranks ranks = {},
             RankGroup& group = alone());

  const ExperimentOptions& options() const { return options_; }
  const Ranks& ranks() const { return ranks_; }
  // The half that loads data, and what loaders for this device and rank need.
  ExperimentData& data() { return data_; }
  LoaderUse loader_use(Split split);
  Hub& hub() { return data_.hub(); }
  Device& device() { return *device_; }
  const Tiers& tiers() const { return data_.tiers(); }
  const Dataset& dataset() const { return data_.dataset(); }
  const Decoder& decoder() const { return data_.decoder(); }
  // The files of the tier that the data set reads. Null if it has no files.
  const FileTree* files() const { return data_.files(); }

  // How the steps of an emulated device end together with those of other ranks. Set it before the
  // first step.
  StepExchange& exchange() { return exchange_; }
  // A loader that has not been started. Its figures go into the hub, by split.
  std::unique_ptr<Loader> make_loader(Split split);
  // The batch on the device. It may lie there already; otherwise it is a copy, which may still be
  // under way.
  std::shared_ptr<DeviceBatch> on_device(const Batch& batch);
  // The first training batch on the device, loaded by a loader of its own, so that a caller can run
  // it again and again. Error(ExitCode::data) if there is no batch.
  std::shared_ptr<DeviceBatch> first_batch();
  // The model on the device (of an emulated one: on the host, as if), in the memory format of
  // training.channels_last. Its weights come from LibTorch's generator.
  std::unique_ptr<Model> make_model();
  // The optimizer of that model, whose parameters it shares.
  std::unique_ptr<Optimizer> make_optimizer(const Model& model);
  // Error(ExitCode::config) if it is for maps and the samples have no maps, or the other way round.
  std::unique_ptr<Loss> make_loss();
  std::unique_ptr<Metric> make_metric();
  // For states of these tensors, in this order. stop_requested: since when the process has been
  // asked to end. warn: what the user has to see.
  std::unique_ptr<Checkpointer> make_checkpointer(
      std::vector<TensorInfo> tensors, std::function<std::optional<TimePoint>()> stop_requested,
      Notify warn);

 private:
  // The number of classes, of labels or of maps.
  int64_t classes() const { return static_cast<int64_t>(dataset().classes().size()); }
  // Where the model lies. For an emulated device it lies on the host.
  at::Device computing_device() const;

  ExperimentOptions options_;
  Notify notify_;
  const Ranks ranks_;
  StepExchange exchange_;
  RankGroup& group_;
  std::unique_ptr<Device> device_;
  ExperimentData data_;
};

// While it lives, this thread's operations on `device` run as `precision` says: bf16 is LibTorch's
// autocast, which keeps weights and sensitive operations in fp32. Objects of one thread may nest;
// each is destroyed by the thread that made it.
class PrecisionScope {
 public:
  // device: whose operations are meant; those on another one stay as they are.
  PrecisionScope(Precision precision, c10::DeviceType device);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  const bool active_;
  const c10::DeviceType device_;
};

}  // namespace stoker
