#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>

#include "app/experiment.h"

namespace stoker {

// uint8 NHWC pixels -> float32 NCHW on their device: (x / 255 - mean) / std per channel with
// ImageNet's constants, as torchvision's weights expect. Immutable; any thread.
class Normalise {
 public:
  Normalise(torch::Device device, bool channels_last);
  torch::Tensor operator()(const torch::Tensor& pixels) const;

 private:
  torch::Tensor mean_;
  torch::Tensor scale_;
  torch::MemoryFormat format_;
};

// What one step computes: forward, backward and update. The trainer's thread, inside Device::run.
class TrainStep {
 public:
  TrainStep(Experiment& experiment, int64_t total_steps, int64_t steps_per_epoch);

  // `before_update` is called when nothing but the optimizer's update is left to do.
  void run(const DeviceBatch& batch, int64_t step, const std::function<void()>& before_update);
  // Logits of a batch, in evaluation mode and without gradients.
  torch::Tensor predict(const DeviceBatch& batch);
  // The loss of the last step; reading it waits for the device.
  double loss() const;
  double learning_rate(int64_t step) const;
  const Model& model() const { return *model_; }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  torch::Tensor forward(const torch::Tensor& images);

  const TrainingOptions options_;
  const Normalise normalise_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  torch::Tensor loss_;
};

}  // namespace stoker
