// One step (train_epoch() and make_step()):
//  1. Windows of profilers begin or end.
//  2. The next batch is taken from the loader. Only here the trainer waits for data, and a signal
//     ends that wait. The rank's vote is sent (step_vote.cpp).
//  3. The batch is copied to the device, unless the loader has put it there.
//  4. Forward and backward pass are queued. Ranks exchange gradients during the backward pass.
//  5. The votes of all ranks say whether the step counts, and whether it is the last one.
//  6. The copy of a checkpoint is waited for, and the weights are updated (checkpoints.cpp). The
//     batch's bad samples are counted, and with loader.digest all ranks' digests are put together.
//  7. Every metrics.every_steps steps a report reads the loss, and so waits for the device.
//  8. A checkpoint is offered. At the end of an epoch the evaluation comes first, for its score.
//
// At every moment the trainer's time belongs to one segment of the ledger: switch_to() ends one and
// begins the next, so the segments add up to the wall time.

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "app/train/ranks/across_ranks.h"
#include "app/train/trainer.h"
#include "io/core/threads.h"
#include "io/metrics/hub.h"

namespace stoker {

void Trainer::loop() {
  while (position_.step < steps_planned_ || position_.batch == per_epoch_) {
    if (!train_epoch()) break;
  }
  if (first_batch_) started_();
  ledger_.switch_to(Segment::compute);
  progress_->collect(true);
  offer_checkpoint(false, true);
}

bool Trainer::train_epoch() {
  if (position_.batch < per_epoch_) loader_->start(position_.epoch, position_.batch);
  while (position_.step < steps_planned_ && position_.batch < per_epoch_) {
    if (vote_.stops()) {
      log_.warn(fmt::format("stopped by a signal after step {}", position_.step));
      return false;
    }
    ledger_.switch_to(Segment::log);
    profile_->at_step(position_.step);
    io_profile_->at_step(position_.step);
    ledger_.switch_to(Segment::data_wait);
    std::optional<Batch> batch = next_batch(*loader_);
    ledger_.switch_to(Segment::other);
    if (batch && std::exchange(first_batch_, false)) {
      started_();
      experiment_.hub().run().set_first_batch(ledger_.wall());
    }
    if (!make_step(std::move(batch))) {
      log_.warn(fmt::format("stopped by a signal while {}waiting for data, after step {}",
                            peers_.ranks().many() ? "a rank was " : "", position_.step));
      return false;
    }
    if (position_.step % experiment_.options().metrics.every_steps == 0 ||
        position_.step == steps_planned_) {
      report();
    }
    // At the end of an epoch its evaluation comes first.
    if (position_.batch < per_epoch_) offer_checkpoint(false, false);
  }
  const auto every = experiment_.options().evaluation.every_epochs;
  const bool last = position_.step >= steps_planned_;
  if ((last || (every && (position_.epoch + 1) % *every == 0)) && !evaluate()) return false;
  const bool epoch_ended = position_.batch == per_epoch_;
  if (epoch_ended) {
    progress_->add_epoch();
    cache_->epoch_ended(++position_.epoch);
    position_.batch = 0;
  }
  offer_checkpoint(epoch_ended, last);
  return !last;
}

std::optional<Batch> Trainer::next_batch(Loader& loader) {
  const Interruptible scope(stop_.token());
  try {
    std::optional<Batch> batch = loader.next();
    if (!batch) throw Error(ExitCode::bug, "the loader ended its epoch early");
    return batch;
  } catch (const Interrupted&) {
    abandoned_ = true;  // a worker may be in a system call that hangs
    return std::nullopt;
  }
}

bool Trainer::make_step(std::optional<Batch> batch) {
  vote_.ask(batch.has_value(), exchange_time_.seconds());
  bool good = true;
  if (batch) {
    ledger_.switch_to(Segment::h2d);
    const std::shared_ptr<DeviceBatch> on_device = experiment_.on_device(*batch);
    batch->pixels.reset();
    ledger_.switch_to(Segment::compute);
    experiment_.device().run(on_device.get(), [&] {
      if (!computes_) return;
      step_->pass(*on_device, position_.step);
      good = counts();
      exchange_time_.end();
      if (good) step_->update(position_.step, checkpoints_->before_update());
    });
    if (!computes_) good = counts();
  } else {
    if (computes_) step_->stand_in();
    if (experiment_.exchange().slowest) experiment_.exchange().slowest(Clock::now());
    good = counts();
  }
  if (!good) {
    if (computes_) step_->undo(vote_.without_batch());
    return false;
  }
  // Where nothing is computed, there is no update that would wait for the copy of a checkpoint.
  checkpoints_->without_update();
  ledger_.switch_to(Segment::other);
  account(*batch);
  bytes_read_ += static_cast<uint64_t>(batch->cost.bytes_read);
  ++position_.step;
  ++position_.batch;
  score_.reset();
  samples_ = batch->filler ? 0 : batch->size;
  if (computes_) progress_->set_pass(step_->times());
  progress_->add_step(samples_, position_.epoch);
  if (lifetime_) lifetime_->at_step(position_.step);
  return true;
}

bool Trainer::counts() {
  const bool all = vote_.counts();
  progress_->add_peers(vote_.waited_for_peers());
  return all;
}

void Trainer::account(const Batch& batch) {
  budget_.account(batch);
  if (experiment_.options().loader.info().digest) {
    digests_.add(batch, digests_of_all(peers_, batch));
  }
}

void Trainer::offer_checkpoint(bool epoch_ended, bool last) {
  const auto settled = [this] {
    if (experiment_.device().info().emulated) {
      // A real device orders the copy behind the step. An emulated one only has a clock, which has
      // to reach the end of the step first.
      ledger_.switch_to(Segment::compute);
      progress_->collect(true);
      ledger_.switch_to(Segment::checkpoint_stall);
    } else if (experiment_.options().training.on_nan == OnNan::stop) {
      require_finite("largest weight", step_->largest_weight());
    }
    return history();
  };
  checkpoints_->offer({position_.step, epoch_ended, position_.epoch, last, vote_.now()}, settled,
                      score_);
}

void Trainer::report() {
  std::optional<double> loss;
  if (computes_) {
    ledger_.switch_to(Segment::compute);  // reading the loss waits for the device
    loss = loss_of_all(peers_, step_->loss(), static_cast<double>(samples_));
  }
  ledger_.switch_to(Segment::log);
  const double rate = computes_ ? step_->learning_rate(position_.step - 1) : 0;
  look_for_directory();
  checkpoints_->publish();
  tell_times(peers_, experiment_.hub());
  progress_->report(loss, rate);
  if (loss) require_finite("loss", *loss);
}

void Trainer::require_finite(const char* what, double value) {
  if (std::isfinite(value)) return;
  const std::string fact =
      fmt::format("the {} is {} after step {}: lower optimizer.lr", what, value, position_.step);
  if (experiment_.options().training.on_nan == OnNan::warn) return log_.warn(fact);
  throw Error(ExitCode::threshold, fact + ", or go on with training.on_nan: warn");
}

bool Trainer::evaluate() {
  const Dataset& dataset = experiment_.dataset();
  const EvaluationOptions& options = experiment_.options().evaluation;
  // An emulated device evaluates nothing; the time and the reads of it may be wanted all the same.
  const bool asked = options.every_epochs || !experiment_.device().info().emulated;
  if (!options.enabled || !asked || dataset.size(Split::test) == 0) return true;
  ledger_.switch_to(Segment::eval);
  RunMeter& run = experiment_.hub().run();
  run.set_phase(RunPhase::eval);
  const double begin = ledger_.wall();
  if (!test_loader_) test_loader_ = experiment_.make_loader(Split::test);
  EvaluationCounts counts;
  if (!evaluate(counts)) {
    log_.warn("stopped by a signal in the evaluation, which will be done anew");
    unevaluated_ = true;
    return false;
  }
  run.set_phase(RunPhase::train);
  add_evaluation(counts_of_all(peers_, counts), ledger_.wall() - begin);
  return true;
}

bool Trainer::evaluate(EvaluationCounts& counted) {
  test_loader_->start(position_.epoch, 0);
  for (int64_t left = test_loader_->batches(); left > 0; --left) {
    const std::optional<Batch> batch = next_batch(*test_loader_);
    vote_.ask(batch.has_value(), exchange_time_.seconds());
    if (batch) {
      io_profile_->in_evaluation(position_.step);
      budget_.account(*batch);
      const std::shared_ptr<DeviceBatch> on_device = experiment_.on_device(*batch);
      on_device->evaluation = true;
      at::Tensor found;
      experiment_.device().run(on_device.get(), [&] {
        if (computes_) found = step_->count(*on_device, *metric_);
      });
      if (computes_ && !batch->filler) counted.add(found, batch->size);
      experiment_.hub().run().add_evaluated(batch->filler ? 0 : batch->size);
    }
    // With its last batch it is done, whatever a signal asks for.
    if (!counts() || (vote_.stops() && left > 1)) return false;
  }
  return true;
}

void Trainer::add_evaluation(const EvaluationCounts& counts, double took) {
  if (counts.samples() == 0) return;
  const std::vector<Measure> measures = counts.measures(*metric_);
  Evaluation evaluation{position_.epoch, position_.step, counts.samples(), {}, took};
  for (const Measure& each : measures) evaluation.measures[each.name] = each.value;
  log_.info(fmt::format("epoch {}: {} on {} test samples", position_.epoch,
                        measures_text(evaluation.measures), evaluation.samples));
  score_ = measures.front().value;
  experiment_.hub().run().add_evaluation(evaluation);
}

}  // namespace stoker
