#include "app/experiment/experiment.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace stoker {

Experiment::Experiment(ExperimentOptions options, Notify notify, Ranks ranks, RankGroup& group)
    : options_(std::move(options)),
      notify_(std::move(notify)),
      ranks_(std::move(ranks)),
      group_(group),
      device_(options_.device.create({options_.run.seed, notify_, ranks_.local_rank, &exchange_})),
      data_(options_, notify_) {}

LoaderUse Experiment::loader_use(Split split) {
  return {.split = split,
          .shard = {ranks_.rank, ranks_.world},
          .allocate = device_->allocator(),
          .device = device_.get(),
          .group = group_};
}

std::unique_ptr<Loader> Experiment::make_loader(Split split) {
  return data_.make_loader(loader_use(split));
}

std::shared_ptr<DeviceBatch> Experiment::on_device(const Batch& batch) {
  if (batch.on_device) return batch.on_device;
  return std::make_shared<DeviceBatch>(device_->copy(batch, decoder().spec()));
}

std::shared_ptr<DeviceBatch> Experiment::first_batch() {
  const auto loader = make_loader(Split::train);
  loader->start(0, 0);
  const std::optional<Batch> batch = loader->next();
  if (!batch) throw Error(ExitCode::data, "the loader gives no batch to run on");
  return on_device(*batch);
}

at::Device Experiment::computing_device() const {
  const DeviceInfo& info = device_->info();
  return info.emulated ? at::Device(at::kCPU) : info.torch_device;
}

std::unique_ptr<Model> Experiment::make_model() {
  const SampleSpec spec = decoder().spec();
  std::unique_ptr<Model> model =
      options_.model.create({spec.channels, spec.height, spec.width, classes()});
  model->place(computing_device(), options_.training.channels_last ? at::MemoryFormat::ChannelsLast
                                                                   : at::MemoryFormat::Contiguous);
  return model;
}

std::unique_ptr<Optimizer> Experiment::make_optimizer(const Model& model) {
  return options_.optimizer.create({parameters(model)});
}

std::unique_ptr<Loss> Experiment::make_loss() {
  const bool maps = decoder().spec().target != 0;
  if (options_.loss.info().maps != maps) {
    throw Error(ExitCode::config,
                fmt::format("loss: {} is for {}, and the samples of decoder {} have {}",
                            options_.loss.type(), maps ? "classes" : "maps",
                            options_.decoder.type(), maps ? "maps" : "no maps"));
  }
  return options_.loss.create({classes(), computing_device(), options_.training.label_smoothing});
}

std::unique_ptr<Metric> Experiment::make_metric() {
  return options_.evaluation.metric.create({classes()});
}

std::unique_ptr<Checkpointer> Experiment::make_checkpointer(
    std::vector<TensorInfo> tensors, std::function<std::optional<TimePoint>()> stop_requested,
    Notify warn) {
  if (options_.checkpoint.info().snapshot == "swap" && !computing_device().is_cpu()) {
    throw Error(
        ExitCode::config,
        fmt::format("checkpoint.snapshot: swap is for tensors in the host's memory, and the "
                    "device is {}: set checkpoint.snapshot=async, which copies beside its "
                    "work, or device.type=cpu",
                    device_->info().name));
  }
  return options_.checkpoint.create({tiers(), options_.run.name, std::move(tensors),
                                     [this](size_t bytes) { return device_->allocate(bytes); },
                                     std::move(stop_requested), notify_, std::move(warn),
                                     &hub().checkpoints(), group_, &hub().run().input_wait()});
}

PrecisionScope::PrecisionScope(Precision precision, c10::DeviceType device)
    : active_(precision == Precision::bf16), device_(device) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::increment_nesting();
}

PrecisionScope::~PrecisionScope() {
  if (!active_) return;
  // The casts of the weights are cached for one pass only, because the next pass has new weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, false);
}

}  // namespace stoker
