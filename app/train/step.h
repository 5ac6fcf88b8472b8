#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "io/device/device.h"
#include "io/device/input_transform.h"
#include "io/distributed/peers.h"
#include "io/metrics/run_meter.h"
#include "io/metrics/run_totals.h"
#include "models/objectives/objective.h"
#include "models/optimizers/back_buffer.h"

namespace stoker {

// A training step's forward and backward pass, given to the device as one graph. The first passes
// run as they are, so that libraries load and choose their algorithms. Then one is captured, and
// from then on batches are copied to where it reads them and the graph is replayed. Batches of
// another shape run as they are. The trainer's thread, inside Device::run. Failures are the
// graph's: Error(ExitCode::device). Parameters and what the pass refers to must keep their memory
// as long as this lives: a graph has addresses in it.
class CapturedPass {
 public:
  // Passes before the capture, as many as torch.cuda.make_graphed_callables makes.
  static constexpr int kEagerPasses = 3;
  // Leaves new gradients (not added to old ones) and returns the loss, a float32 scalar.
  using Pass = std::function<at::Tensor(const at::Tensor& images, const at::Tensor& labels)>;

  // Captures nothing yet. `parameters` are those whose gradients `pass` leaves.
  CapturedPass(std::unique_ptr<StepGraph> graph, std::vector<at::Tensor> parameters, Pass pass);

  // The loss, on the device; the next call may overwrite it. The gradients are new ones, or the
  // graph's own, which every replay overwrites.
  at::Tensor operator()(const at::Tensor& images, const at::Tensor& labels);

 private:
  // Counts the passes of this shape. True: now is the time to capture one.
  bool warm(const at::Tensor& images);
  void capture(const at::Tensor& images, const at::Tensor& labels);
  at::Tensor replay(const at::Tensor& images, const at::Tensor& labels);

  const std::unique_ptr<StepGraph> graph_;
  const std::vector<at::Tensor> parameters_;
  const Pass pass_;
  // The shape of the eager passes, and later of the graph; and how many passes had it.
  std::vector<int64_t> shape_;
  int passes_ = 0;
  bool captured_ = false;
  // What the graph reads and writes.
  at::Tensor images_;
  at::Tensor labels_;
  at::Tensor loss_;
  std::vector<at::Tensor> gradients_;
};

// What one step computes: forward, backward and update. The trainer's thread, inside Device::run.
// Owns model, optimizer and schedule; refers to nothing of the experiment afterwards. Work is
// queued on the device, and waited for only where a method says so. Failures are
// Error(ExitCode::device), and ExitCode::data for damage that shows on the device.
class TrainStep {
 public:
  // Makes the model, whose weights come from LibTorch's generator: seed it before. total_steps,
  // steps_per_epoch: for the schedule. graph: for training.cuda_graph, instead of the device's own
  // (for tests).
  TrainStep(Experiment& experiment, int64_t total_steps, int64_t steps_per_epoch,
            std::unique_ptr<StepGraph> graph = nullptr);

  // From now on backward() exchanges gradients with the other ranks. ready: called when only the
  // exchange is left. Call this once, when all ranks have the same state.
  void exchange_gradients(Peers& peers, std::function<void()> ready);
  // From now on the schedule is that of step + `ahead`.
  void shift_schedule(int64_t ahead) { ahead_ = ahead; }
  // The first half of step number `step`, from 0: all but the optimizer's update. No weight has
  // changed yet.
  void pass(const DeviceBatch& batch, int64_t step);
  // The second half: the update, with the gradients as they are. back: null, or the update writes
  // into it, and finishes it.
  void update(int64_t step, BackBuffer* back);
  // In place of pass() on a rank that has no batch, so that the others come out of the exchange. No
  // rank may update its weights then, and all call undo().
  void stand_in();
  // After a pass that does not count: all ranks get the buffers of rank `from`, which stood in.
  void undo(int64_t from);
  // Logits of a batch, in evaluation mode and without gradients.
  at::Tensor predict(const DeviceBatch& batch);
  // What the metric counts of a batch's logits.
  at::Tensor count(const DeviceBatch& batch, const Metric& metric);
  // Times of the parts of all steps so far. Absent if this thread does not compute them itself, or
  // with a captured graph.
  const std::optional<PassTimes>& times() const { return times_; }
  // The loss of the last step; reading it waits for the device.
  double loss() const;
  // The largest magnitude of a weight. NaN or infinity if a weight is. Waits for the device.
  double largest_weight() const;
  // The size of all gradients that ranks exchange in a step.
  uint64_t gradient_bytes() const;
  // The learning rate of a step: the optimizer's times the schedule's factor.
  double learning_rate(int64_t step) const;
  const Model& model() const { return *model_; }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  // Logits, in training.precision.
  at::Tensor forward(const at::Tensor& values);
  // Forward and backward pass: returns the loss and leaves new gradients in the parameters. target:
  // labels or maps. share: the weight of this rank's samples in the mean over all samples, times
  // the number of ranks.
  at::Tensor forward_backward(const at::Tensor& values, const at::Tensor& target, double share = 1);
  // For a step of several ranks: seeds the generators and returns the share of its batch.
  double begin_share(const Batch& batch, int64_t step);
  std::unique_ptr<CapturedPass> graphed(std::unique_ptr<StepGraph> graph);

  const TrainingOptions options_;
  const uint64_t seed_;
  const SampleSpec spec_;
  const std::unique_ptr<InputTransform> to_input_;
  std::unique_ptr<Model> model_;
  const std::vector<at::Tensor> parameters_;
  const std::unique_ptr<Loss> loss_of_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  int64_t ahead_ = 0;
  std::unique_ptr<CapturedPass> graphed_;  // null without training.cuda_graph
  at::Tensor loss_;
  std::optional<PassTimes> times_;
  // Used only with many ranks.
  Peers* peers_ = nullptr;           // with gradients to exchange
  std::vector<at::Tensor> buffers_;  // the model's; only with peers
  std::unique_ptr<GradientExchange> exchange_;
};

// The counts of an evaluation under way, first those of this rank's batches, and later those of all
// ranks. A value; the trainer's thread.
class EvaluationCounts {
 public:
  // Adds what Metric::count() returned for a batch. Waits for the device.
  void add(const at::Tensor& counts, int64_t samples);
  // The counts as one list, which add() of another rank takes.
  const std::vector<int64_t>& values() const { return values_; }
  void add(const std::vector<int64_t>& values);
  // 0: nothing was counted, and there is nothing to measure.
  int64_t samples() const { return values_.empty() ? 0 : values_.front(); }
  // The measures that the counts give.
  std::vector<Measure> measures(const Metric& metric) const;

 private:
  std::vector<int64_t> values_;  // samples, then the metric's; empty: nothing yet
};

// "top-1 61.2 %, top-5 88.0 %" or "iou 0.412": measures for people, those of guessing left out.
std::string measures_text(const std::map<std::string, double>& measures);

}  // namespace stoker
