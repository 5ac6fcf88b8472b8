#include "app/train/step.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/run/environment.h"
#include "io/core/random.h"

namespace stoker {
namespace {

InputTransform::Inputs input_of(Experiment& experiment) {
  const TrainingOptions& options = experiment.options().training;
  // Autocast would round the first layer's input to this; here it costs no pass of its own.
  const bool bf16 = options.precision == Precision::bf16;
  return {experiment.device().info().torch_device, experiment.decoder().spec(),
          options.channels_last, bf16 ? at::kBFloat16 : at::kFloat};
}

}  // namespace

TrainStep::TrainStep(Experiment& experiment, int64_t total_steps, int64_t steps_per_epoch,
                     std::unique_ptr<StepGraph> graph)
    : options_(experiment.options().training),
      seed_(experiment.options().run.seed),
      spec_(experiment.decoder().spec()),
      to_input_(make_input_transform(input_of(experiment))),
      model_(experiment.make_model()),
      parameters_(parameters(*model_)),
      loss_of_(experiment.make_loss()),
      optimizer_(experiment.make_optimizer(*model_)),
      schedule_(experiment.options().schedule.create({total_steps, steps_per_epoch})) {
  const at::Device device = experiment.device().info().torch_device;
  reuse_freed_tensors();
  if (device.is_cpu()) keep_freed_heap();
  if (experiment.device().info().timing_method == "host") times_.emplace();
  if (!options_.cuda_graph) return;
  times_.reset();
  graphed_ = graphed(graph ? std::move(graph) : make_step_graph(device));
}

std::unique_ptr<CapturedPass> TrainStep::graphed(std::unique_ptr<StepGraph> graph) {
  CapturedPass::Pass work = [this](const at::Tensor& images, const at::Tensor& labels) {
    // Frames differ in size from batch to batch. What is made of them does not, and a graph needs
    // that.
    if (spec_.frame != 0) return forward_backward(images, labels);
    const DeviceBatch batch{images, labels, {}, nullptr};
    return forward_backward((*to_input_)(batch), targets(batch, spec_));
  };
  return std::make_unique<CapturedPass>(std::move(graph), parameters_, std::move(work));
}

at::Tensor TrainStep::forward(const at::Tensor& values) {
  const PrecisionScope scope(options_.precision, values.device().type());
  return model_->forward(values);
}

void TrainStep::exchange_gradients(Peers& peers, std::function<void()> ready) {
  peers_ = &peers;
  exchange_ = peers.exchange(parameters_, std::move(ready));
  for (const NamedTensor& each : model_->state()) {
    if (!each.trained) buffers_.push_back(each.tensor);
  }
}

at::Tensor TrainStep::forward_backward(const at::Tensor& values, const at::Tensor& target,
                                       double share) {
  const TimePoint begin = Clock::now();
  model_->set_training(true);
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
  if (exchange_) exchange_->before_forward();
  const at::Tensor loss = (*loss_of_)(forward(values).to(at::kFloat), target);
  const at::Tensor own = share == 1 ? loss : loss.mul(share);
  const TimePoint forward_end = Clock::now();
  exchange_ ? exchange_->backward(own) : own.backward();
  // Each rank's part of the batch has changed its own buffers. Those of rank 0 are kept, as in
  // PyTorch's DDP.
  if (!buffers_.empty()) peers_->broadcast_tensors(buffers_);
  if (times_) {
    times_->forward_s += seconds(forward_end - begin);
    times_->backward_s += seconds(Clock::now() - forward_end);
  }
  return loss.detach();
}

double TrainStep::begin_share(const Batch& batch, int64_t step) {
  // What dropout draws is a function of step and rank: no generator's state has to be kept for
  // each.
  at::manual_seed(
      mix(mix(seed_, static_cast<uint64_t>(step)), static_cast<uint64_t>(peers_->ranks().rank)));
  const auto part = static_cast<double>(batch.filler ? 0 : batch.size);
  return part * static_cast<double>(peers_->ranks().world) / static_cast<double>(batch.whole);
}

void TrainStep::pass(const DeviceBatch& batch, int64_t step) {
  if (graphed_) {
    loss_ = (*graphed_)(spec_.frame != 0 ? (*to_input_)(batch) : batch.images, batch.labels);
  } else {
    loss_ = forward_backward((*to_input_)(batch), targets(batch, spec_),
                             exchange_ ? begin_share(batch.host, step) : 1);
  }
}

void TrainStep::stand_in() {
  if (!exchange_) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> own;
  for (const at::Tensor& buffer : buffers_) own.push_back(buffer.clone());
  exchange_->stand_in();
  if (buffers_.empty()) return;
  peers_->broadcast_tensors(buffers_);  // as after every pass
  for (size_t i = 0; i < own.size(); ++i) buffers_[i].copy_(own[i]);
}

void TrainStep::undo(int64_t from) {
  if (!buffers_.empty()) peers_->broadcast_tensors(buffers_, from);
}

void TrainStep::update(int64_t step, BackBuffer* back) {
  const TimePoint begin = Clock::now();
  if (back == nullptr) {
    optimizer_->step(learning_rate(step));
  } else {
    optimizer_->step_into(*back, learning_rate(step));
    back->finish();
  }
  if (times_) times_->update_s += seconds(Clock::now() - begin);
}

at::Tensor TrainStep::predict(const DeviceBatch& batch) {
  const at::NoGradGuard no_grad;
  model_->set_training(false);
  return forward((*to_input_)(batch)).to(at::kFloat);
}

at::Tensor TrainStep::count(const DeviceBatch& batch, const Metric& metric) {
  const at::NoGradGuard no_grad;
  return metric.count(predict(batch), targets(batch, spec_));
}

uint64_t TrainStep::gradient_bytes() const {
  uint64_t bytes = 0;
  for (const at::Tensor& parameter : parameters_) bytes += parameter.nbytes();
  return bytes;
}

double TrainStep::loss() const { return loss_.item<double>(); }

double TrainStep::largest_weight() const {
  const at::NoGradGuard no_grad;
  // Takes a tenth of the time of the infinity norm on a CPU. Both pass NaN on.
  std::vector<at::Tensor> ends;
  for (const at::Tensor& weights : parameters_) {
    const auto [smallest, largest] = at::aminmax(weights);
    ends.insert(ends.end(), {smallest, largest});
  }
  return at::stack(ends).abs().max().item<double>();
}

double TrainStep::learning_rate(int64_t step) const {
  return optimizer_->base_lr() * schedule_->factor(step + ahead_);
}

CapturedPass::CapturedPass(std::unique_ptr<StepGraph> graph, std::vector<at::Tensor> parameters,
                           Pass pass)
    : graph_(std::move(graph)), parameters_(std::move(parameters)), pass_(std::move(pass)) {}

at::Tensor CapturedPass::operator()(const at::Tensor& images, const at::Tensor& labels) {
  if (!captured_ && warm(images)) capture(images, labels);
  if (captured_ && images.sizes() == shape_) return replay(images, labels);
  return pass_(images, labels);
}

// Whether the passes before this one had its shape, and were enough.
bool CapturedPass::warm(const at::Tensor& images) {
  if (images.sizes() != shape_) {
    shape_ = images.sizes().vec();
    passes_ = 0;
  }
  return passes_++ == kEagerPasses;
}

void CapturedPass::capture(const at::Tensor& images, const at::Tensor& labels) {
  images_ = images.clone();
  labels_ = labels.clone();
  loss_ = at::empty({}, images.options().dtype(at::kFloat));
  graph_->capture([this] { loss_.copy_(pass_(images_, labels_)); });
  // These gradients were made during the capture, so every replay writes to their memory.
  for (const at::Tensor& parameter : parameters_) gradients_.push_back(parameter.grad());
  captured_ = true;
}

// The copies and the replay are queued on one stream, so the replay reads the new batch.
at::Tensor CapturedPass::replay(const at::Tensor& images, const at::Tensor& labels) {
  images_.copy_(images, /*non_blocking=*/true);
  labels_.copy_(labels, /*non_blocking=*/true);
  // A pass of another shape may have replaced them by its own.
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = gradients_[i];
  graph_->replay();
  return loss_;
}

void EvaluationCounts::add(const at::Tensor& counts, int64_t samples) {
  const at::Tensor host = counts.cpu().contiguous();
  const auto* begin = host.const_data_ptr<int64_t>();
  // The number of samples is the first count, so that it is added up like the others.
  std::vector<int64_t> values{samples};
  values.insert(values.end(), begin, begin + host.numel());
  add(values);
}

void EvaluationCounts::add(const std::vector<int64_t>& values) {
  values_.resize(std::max(values_.size(), values.size()));
  for (size_t i = 0; i < values.size(); ++i) values_[i] += values[i];
}

std::vector<Measure> EvaluationCounts::measures(const Metric& metric) const {
  return metric.measures({values_.begin() + 1, values_.end()});
}

std::string measures_text(const std::map<std::string, double>& measures) {
  std::string text;
  for (const auto& [name, value] : measures) {
    const bool of_labels = name == "top1" || name == "top5";
    // What guessing would get stands in the summary, beside the measures that it explains.
    if (name == "chance" || name == "largest_class" || name == "mean_per_class") continue;
    if (!text.empty()) text += ", ";
    text += of_labels ? fmt::format("top-{} {:.1f} %", name.back(), 100 * value)
                      : fmt::format("{} {:.4f}", name, value);
  }
  return text;
}

}  // namespace stoker
