#include "app/train_step.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include "app/precision.h"

namespace stoker {

Normalise::Normalise(torch::Device device, bool channels_last)
    : format_(channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous) {
  const auto options = torch::TensorOptions(torch::kFloat32).device(device);
  mean_ = at::tensor({123.675, 116.28, 103.53}, options).view({1, 3, 1, 1});
  scale_ = at::tensor({1 / 58.395, 1 / 57.12, 1 / 57.375}, options).view({1, 3, 1, 1});
}

torch::Tensor Normalise::operator()(const torch::Tensor& pixels) const {
  return pixels.permute({0, 3, 1, 2})
      .to(mean_.options(), false, true, format_)
      .sub_(mean_)
      .mul_(scale_);
}

TrainStep::TrainStep(Experiment& experiment, int64_t total_steps, int64_t steps_per_epoch)
    : options_(experiment.options().training),
      normalise_(experiment.device().info().torch_device, options_.channels_last),
      model_(experiment.make_model()),
      optimizer_(experiment.make_optimizer(*model_)),
      schedule_(experiment.options().schedule.create({total_steps, steps_per_epoch})) {}

torch::Tensor TrainStep::forward(const torch::Tensor& images) {
  const PrecisionScope scope(options_.precision, images.device().type());
  return model_->forward(normalise_(images));
}

void TrainStep::run(const DeviceBatch& batch, int64_t step,
                    const std::function<void()>& before_update) {
  model_->train();
  for (torch::Tensor& parameter : model_->parameters()) parameter.mutable_grad() = torch::Tensor();
  loss_ = at::cross_entropy_loss(forward(batch.images).to(torch::kFloat32), batch.labels);
  loss_.backward();
  loss_ = loss_.detach();
  before_update();
  optimizer_->step(learning_rate(step));
}

torch::Tensor TrainStep::predict(const DeviceBatch& batch) {
  const torch::NoGradGuard no_grad;
  model_->eval();
  return forward(batch.images).to(torch::kFloat32);
}

double TrainStep::loss() const { return loss_.item<double>(); }

double TrainStep::learning_rate(int64_t step) const {
  return optimizer_->base_lr() * schedule_->factor(step);
}

}  // namespace stoker
