#include "app/trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/environment.h"
#include "app/report.h"

namespace stoker {
namespace {

std::vector<std::unique_ptr<MetricsSink>> make_sinks(Experiment& experiment,
                                                     const RunDirectory& directory, RunLog& log) {
  std::vector<std::unique_ptr<MetricsSink>> sinks;
  for (const auto& sink : experiment.options().metrics.sinks) {
    sinks.push_back(sink.create(
        {directory.path(), log.notify(), log.live(), experiment.device().info().emulated}));
  }
  return sinks;
}

void prepare_torch(const ExperimentOptions& options) {
  torch::manual_seed(options.run.seed);
  at::set_num_threads(static_cast<int>(options.training.threads.resolve()));
  at::globalContext().setDeterministicAlgorithms(options.training.deterministic, false);
}

}  // namespace

Trainer::Trainer(Experiment& experiment, const RunDirectory& directory, RunLog& log,
                 const StopSignal& stop)
    : experiment_(experiment),
      directory_(directory),
      log_(log),
      stop_(stop),
      spec_(experiment.decoder().spec()),
      budget_(experiment.dataset().on_error().budget.of(experiment.dataset().size(Split::train))) {
  directory_.write(
      "environment.json",
      describe_environment(experiment.device().info(), directory.path()).dump(2) + "\n");
}

Trainer::~Trainer() = default;

TrainingResult Trainer::run() {
  try {
    train();
    result_.exit_code = stop_.exit_code();
    result_.status =
        stop_.requested() && result_.steps < result_.steps_planned ? "stopped" : "completed";
  } catch (const Error& error) {
    result_.exit_code = error.code();
    result_.error = error.what();
  }
  write_files();
  return result_;
}

void Trainer::train() {
  const ExperimentOptions& options = experiment_.options();
  prepare_torch(options);
  loader_ = experiment_.make_loader(Split::train);
  const int64_t per_epoch = loader_->batches();
  const TrainingOptions& training = options.training;
  result_.steps_planned =
      std::min(training.epochs * per_epoch, training.max_steps.value_or(INT64_MAX));
  if (!experiment_.device().info().emulated) {
    step_ = std::make_unique<TrainStep>(experiment_, result_.steps_planned, per_epoch);
  }
  auto sinks = make_sinks(experiment_, directory_, log_);
  log_.info(fmt::format("{} on {}: {} training and {} test samples of {} classes, {} steps",
                        options.model.type(), experiment_.device().info().name,
                        experiment_.dataset().size(Split::train),
                        experiment_.dataset().size(Split::test),
                        experiment_.dataset().classes().size(), result_.steps_planned));
  ledger_.begin();
  progress_ = std::make_unique<Progress>(experiment_.device(), ledger_, std::move(sinks),
                                         result_.steps_planned);
  try {
    for (int64_t epoch = 0; result_.steps < result_.steps_planned; ++epoch) {
      if (!train_epoch(epoch)) break;
    }
    ledger_.switch_to(Segment::compute);
    progress_->collect(true);
  } catch (...) {
    ledger_.end();
    progress_->finish(result_);
    throw;
  }
  ledger_.end();
  progress_->finish(result_);
}

bool Trainer::train_epoch(int64_t epoch) {
  loader_->start(epoch, 0);
  while (result_.steps < result_.steps_planned) {
    if (stop_.requested()) {
      log_.warn("stopped by a signal after this step");
      return false;
    }
    ledger_.switch_to(Segment::data_wait);
    std::optional<Batch> batch = loader_->next();
    if (!batch) break;
    ledger_.switch_to(Segment::other);
    if (!result_.first_batch_s) result_.first_batch_s = ledger_.wall();
    budget_.account(*batch);
    write_digest(*batch);
    train_batch(std::move(*batch));
    if (result_.steps % experiment_.options().metrics.every_steps == 0 ||
        result_.steps == result_.steps_planned) {
      report(epoch);
    }
  }
  ++result_.epochs;
  const auto every = experiment_.options().evaluation.every_epochs;
  const bool last = result_.steps >= result_.steps_planned;
  if (last || (every && (epoch + 1) % *every == 0)) evaluate(epoch);
  return true;
}

void Trainer::train_batch(Batch batch) {
  result_.load_cost.read_ns += batch.cost.read_ns;
  result_.load_cost.decode_ns += batch.cost.decode_ns;
  result_.load_cost.bytes_read += batch.cost.bytes_read;
  Device& device = experiment_.device();
  ledger_.switch_to(Segment::h2d);
  std::shared_ptr<DeviceBatch> on_device = std::move(batch.on_device);
  if (!on_device) on_device = std::make_shared<DeviceBatch>(device.copy(batch, spec_));
  batch.pixels.reset();
  ledger_.switch_to(Segment::compute);
  device.run(on_device.get(), [&] { step_->run(*on_device, result_.steps); });
  ++result_.steps;
  ledger_.switch_to(Segment::other);
  progress_->add_step(batch.size);
}

void Trainer::report(int64_t epoch) {
  std::optional<double> loss;
  if (step_) {
    ledger_.switch_to(Segment::compute);  // reading the loss waits for the device
    loss = result_.final_loss = step_->loss();
  }
  ledger_.switch_to(Segment::log);
  const double rate = step_ ? step_->learning_rate(result_.steps - 1) : 0;
  progress_->report(epoch, loss, rate);
  if (loss && !std::isfinite(*loss)) {
    log_.warn(fmt::format("the loss is {} at step {}: lower optimizer.lr?", *loss, result_.steps));
  }
}

void Trainer::evaluate(int64_t epoch) {
  const Dataset& dataset = experiment_.dataset();
  if (!experiment_.options().evaluation.enabled || !step_ || dataset.size(Split::test) == 0) return;
  ledger_.switch_to(Segment::eval);
  const double begin = ledger_.wall();
  if (!test_loader_) test_loader_ = experiment_.make_loader(Split::test);
  Accuracy accuracy(static_cast<int64_t>(dataset.classes().size()));
  Device& device = experiment_.device();
  test_loader_->start(static_cast<int64_t>(result_.evaluations.size()), 0);
  while (std::optional<Batch> batch = test_loader_->next()) {
    budget_.account(*batch);
    if (!batch->on_device) {
      batch->on_device = std::make_shared<DeviceBatch>(device.copy(*batch, spec_));
    }
    torch::Tensor ranks;
    device.run(batch->on_device.get(), [&] {
      const torch::Tensor logits = step_->predict(*batch->on_device);
      const torch::Tensor own = logits.gather(1, batch->on_device->labels.unsqueeze(1));
      // Ties and NaN count against the model.
      ranks = logits.size(1) - 1 - (logits < own).sum(1);
    });
    ranks = ranks.cpu();
    for (int64_t i = 0; i < batch->size; ++i) {
      accuracy.add((*batch->labels)[static_cast<size_t>(i)], ranks[i].item<int64_t>());
    }
  }
  const double took = ledger_.wall() - begin;
  log_.info(fmt::format("epoch {}: top-1 {:.1f} %, top-5 {:.1f} % on {} test samples", epoch,
                        100 * accuracy.top1(), 100 * accuracy.top5(), accuracy.samples()));
  result_.evaluations.push_back({epoch, result_.steps, accuracy, took});
}

void Trainer::write_digest(const Batch& batch) {
  if (batch.digest.empty()) return;
  if (!digests_.is_open()) {
    digests_.open(directory_.path() + "/digests.csv");
    digests_ << "epoch,batch,digest\n";
  }
  digests_ << batch.epoch << ',' << batch.index << ',' << batch.digest << '\n';
}

void Trainer::write_files() {
  result_.skipped = budget_.skipped();
  result_.skipped_by_reason = budget_.by_reason();
  digests_.close();
  if (!result_.skipped.empty()) directory_.write("skipped.csv", skipped_csv(result_));
  directory_.write("summary.json", summary_json(experiment_, directory_, result_).dump(2) + "\n");
}

}  // namespace stoker
