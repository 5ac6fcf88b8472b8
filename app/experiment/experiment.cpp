#include "app/experiment/experiment.h"

#include <utility>

#include "io/metrics/hub.h"
#include "io/storage/metered.h"

namespace stoker {

Experiment::Experiment(ExperimentOptions options, Notify notify)
    : options_(std::move(options)), notify_(std::move(notify)), hub_(std::make_unique<Hub>()) {
  device_ = options_.device.create({options_.run.seed, notify_});
  for (const auto& [name, tier] : options_.storage) {
    tiers_.add(name, open_tier(tier, {name, notify_, hub_.get()}));
  }
  dataset_ = options_.dataset.create({tiers_, options_.run.seed, notify_});
  decoder_ = options_.decoder.create({});
}

Experiment::~Experiment() = default;

std::unique_ptr<Loader> Experiment::make_loader(Split split) {
  return options_.loader.create(
      {*dataset_, *decoder_, *device_, split, options_.run.seed, notify_,
       split == Split::train ? hub_->train_loader() : hub_->test_loader()});
}

std::shared_ptr<Model> Experiment::make_model() {
  const SampleSpec spec = decoder_->spec();
  std::shared_ptr<Model> model = options_.model.create(
      {spec.channels, spec.height, spec.width, static_cast<int64_t>(dataset_->classes().size())});
  const DeviceInfo& device = device_->info();
  model->to(device.emulated ? torch::Device(torch::kCPU) : device.torch_device);
  if (options_.training.channels_last) {
    for (torch::Tensor& p : model->parameters()) {
      if (p.dim() == 4) p.set_data(p.detach().contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }
  return model;
}

std::unique_ptr<Optimizer> Experiment::make_optimizer(const Model& model) {
  return options_.optimizer.create({model.parameters()});
}

std::unique_ptr<Checkpointer> Experiment::make_checkpointer(
    std::vector<TensorInfo> tensors, std::function<std::optional<TimePoint>()> stop_requested,
    Notify warn) {
  return options_.checkpoint.create({tiers_, options_.run.name, std::move(tensors),
                                     [this](size_t bytes) { return device_->allocate(bytes); },
                                     std::move(stop_requested), notify_, std::move(warn),
                                     &hub_->checkpoints()});
}

}  // namespace stoker
