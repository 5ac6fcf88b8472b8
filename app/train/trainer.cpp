// One step (train_epoch() and train_batch()):
//  1. The ranks agree whether to stop (step_vote.cpp). Windows of profilers begin or end.
//  2. The next batch is taken from the loader. Only here the trainer waits for data.
//  3. Its bad samples are counted, and with loader.digest all ranks' digests are put together.
//  4. It is copied to the device, unless the loader has put it there.
//  5. Forward and backward pass are queued. Ranks exchange gradients during the backward pass.
//  6. The copy of a checkpoint is waited for, and the weights are updated (checkpoints.cpp).
//  7. Every metrics.every_steps steps a report reads the loss, and so waits for the device.
//  8. A checkpoint is offered. At the end of an epoch the evaluation comes first, for its score.
//
// At every moment the trainer's time belongs to one segment of the ledger: switch_to() ends one and
// begins the next, so the segments add up to the wall time.

#include "app/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/run/environment.h"
#include "app/train/across_ranks.h"
#include "app/train/report.h"
#include "app/train/torch_set_up.h"
#include "io/core/system/shortage.h"
#include "io/core/text/json.h"
#include "io/metrics/hub.h"
#include "io/metrics/verdict.h"

namespace stoker {

Trainer::Trainer(Experiment& experiment, const RunDirectory& directory, RunLog& log,
                 StopSignal& stop, Peers& peers, std::unique_ptr<Loader> loader)
    : experiment_(experiment),
      computes_(!experiment.device().info().emulated && experiment.options().training.compute),
      directory_(directory),
      log_(log),
      stop_(stop),
      peers_(peers),
      vote_(peers, stop),
      ledger_(experiment.hub().run().segment()),
      exchange_time_(experiment.device().info(), ledger_),
      budget_(experiment.dataset().on_error().budget.of(experiment.dataset().size(Split::train))),
      loader_(std::move(loader)),
      digests_(directory.path(), [&log](const std::string& text) { log.warn(text); }) {
  directory_.write("environment.json",
                   json_text(describe_environment(experiment.device().info(), directory.path(),
                                                  experiment.options().training.threads.resolve()),
                             2) +
                       "\n");
}

Trainer::~Trainer() = default;

RunRecord Trainer::run(std::function<void()> started) {
  started_ = std::move(started);
  try {
    train();
    share(peers_, "");  // another rank may still wait for its checkpoints, for as long as it takes
    tell_times(peers_, experiment_.hub());
    code_ = stop_.exit_code();
    const std::string lost = checkpoints_->lost(code_);
    if (!lost.empty()) fail(ExitCode::storage, lost);
  } catch (const Error& error) {
    fail(error.code(), error.what());
  } catch (const std::exception& error) {
    const std::optional<Error> known = shortage(error);
    if (!known) throw;
    fail(known->code(), known->what());
  }
  if (io_profile_) write_file([&] { io_profile_->finish(position_.step); });
  write_samples();
  end();
  const ExitCode before = code_;
  write_file([&] { write_summary(); });
  if (sinks_) sinks_->flush();
  for (const std::string& lost : {sinks_ ? sinks_->lost() : "", digests_.error(), log_.error()}) {
    if (!lost.empty() && code_ == ExitCode::ok) fail(ExitCode::environment, lost);
  }
  if (code_ != before) {
    end();
    write_file([&] { write_summary(); });
  }
  return experiment_.hub().record();
}

void Trainer::write_samples() {
  const auto write = [this](const char* name, const std::string& text) {
    if (!text.empty()) write_file([&] { directory_.write(name, text); });
  };
  write("skipped.csv", skipped_csv(budget_.skipped()));
  write("tolerated.csv", tolerated_csv(budget_.tolerated()));
}

void Trainer::fail(ExitCode code, const std::string& error) {
  code_ = code;
  error_ = error;
}

void Trainer::end() {
  const bool stopped = stop_.requested() && position_.step < steps_planned_;
  const RunPhase good = stopped ? RunPhase::stopped : RunPhase::completed;
  experiment_.hub().run().end(error_.empty() ? good : RunPhase::failed, static_cast<int>(code_),
                              error_);
}

template <class F>
void Trainer::write_file(F&& f) {
  try {
    f();
  } catch (const IoError& error) {
    log_.warn(error.what());
    if (code_ == ExitCode::ok) fail(ExitCode::environment, error.what());
  }
}

void Trainer::prepare() {
  const ExperimentOptions& options = experiment_.options();
  const DeviceInfo& device = experiment_.device().info();
  set_up_torch(options, device, [this](const std::string& text) { log_.warn(text); });
  if (!loader_) loader_ = experiment_.make_loader(Split::train);
  per_epoch_ = loader_->batches();
  plan_steps(0);
  if (computes_ || options.checkpoint.info().saves || peers_.ranks().many()) {
    step_ = std::make_unique<TrainStep>(experiment_, steps_planned_, per_epoch_);
  }
  if (computes_ && options.evaluation.enabled) metric_ = experiment_.make_metric();
  checkpoints_ = std::make_unique<RunCheckpoints>(experiment_, step_.get(), ledger_, log_, stop_);
}

void Trainer::plan_steps(int64_t ahead) {
  const TrainingOptions& options = experiment_.options().training;
  steps_planned_ =
      std::min(options.epochs * per_epoch_ - ahead, options.max_steps.value_or(INT64_MAX));
}

void Trainer::resume(RunInfo& info) {
  const std::optional<RunHistory> found = checkpoints_->load(info);
  if (!found) return;
  before_ = own_history(peers_.ranks(), *found);
  position_ = resumed_position(*found, experiment_.options(), peers_.ranks().world, per_epoch_);
  // Steps are counted on. The schedule and the length of the run follow the place in the data.
  const int64_t ahead = position_.epoch * per_epoch_ + position_.batch - position_.step;
  plan_steps(ahead);
  if (step_) step_->shift_schedule(ahead);
  for (const Evaluation& evaluation : before_.evaluations) {
    experiment_.hub().run().add_evaluation(evaluation);
  }
  budget_.resume(before_.bad_samples, before_.skipped_by_reason, before_.tolerated);
  digests_.resume(before_.digest_chain);
}

void Trainer::train() {
  const ExperimentOptions& options = experiment_.options();
  RunMeter& run = experiment_.hub().run();
  RunInfo info = run_info(experiment_, directory_.path());
  info.address = address_among(peers_);
  run.describe(info);
  sinks_ = std::make_unique<RunSinks>(experiment_, directory_.path(), log_, stop_);
  tell_targets(peers_, directory_.path());
  // Ranks may share a page cache, so all of them look at it before one of them reads.
  set_up_page_cache(experiment_, log_.notify());
  share(peers_, "");
  cache_ = std::make_unique<CacheWatch>(experiment_);
  share(peers_, "");
  const std::string missed = missed_page_cache(run.state().cache);
  if (!missed.empty()) log_.warn(missed);
  prepare();
  resume(info);
  if (peers_.ranks().many()) join_ranks(peers_, *step_, experiment_, ledger_, exchange_time_);
  info.steps_planned = steps_planned_;
  info.first_step = position_.step;
  run.describe(info);
  log_.info(fmt::format("{} on {}: {} training and {} test samples of {} classes, {} steps",
                        options.model.type(), experiment_.device().info().name,
                        experiment_.dataset().size(Split::train),
                        experiment_.dataset().size(Split::test),
                        experiment_.dataset().classes().size(), steps_planned_));
  profile_ = std::make_unique<ProfileWindow>(options.metrics.profile, experiment_.device().info(),
                                             directory_.path(), run, log_.notify());
  io_profile_ = std::make_unique<IoWindow>(options.metrics.io_profile, directory_.path(),
                                           position_.step, experiment_.hub(), log_.notify());
  run.set_phase(RunPhase::train);
  ledger_.begin();
  progress_ = std::make_unique<Progress>(experiment_.device(), ledger_, experiment_.hub(), *sinks_,
                                         position_.step, position_.epoch);
  std::exception_ptr error;
  try {
    loop();
  } catch (...) {
    error = std::current_exception();
  }
  ledger_.end();
  progress_->finish();
  cache_.reset();
  if (error) std::rethrow_exception(error);
  run.set_phase(RunPhase::flush);
  abandoned_ = !checkpoints_->flush();
}

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
    if (agreed_to_stop()) {
      log_.warn("stopped by a signal after this step");
      return false;
    }
    ledger_.switch_to(Segment::log);
    profile_->at_step(position_.step);
    io_profile_->at_step(position_.step);
    ledger_.switch_to(Segment::data_wait);
    std::optional<Batch> batch = loader_->next();
    if (!batch) throw Error(ExitCode::bug, "the loader ended its epoch early");
    ledger_.switch_to(Segment::other);
    if (std::exchange(first_batch_, false)) {
      started_();
      experiment_.hub().run().set_first_batch(ledger_.wall());
    }
    budget_.account(*batch);
    if (experiment_.options().loader.info().digest) {
      digests_.add(*batch, digests_of_all(peers_, *batch));
    }
    train_batch(std::move(*batch));
    ++position_.batch;
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
    cache_->epoch_ended();
    ++position_.epoch;
    position_.batch = 0;
  }
  offer_checkpoint(epoch_ended, last);
  return !last;
}

// Takes the votes of the step before, and sends this rank's vote for the step that begins.
bool Trainer::agreed_to_stop() {
  const bool stop = vote_.agreed();
  progress_->add_peers(vote_.waited_for_peers());
  vote_.ask(exchange_time_.seconds());
  return stop;
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

RunHistory Trainer::history() {
  RunHistory history = before_;
  history.position = position_;
  history.ranks = peers_.ranks().world;
  history.batch_size = experiment_.options().loader.info().batch_size;
  history.batches = per_epoch_;
  history.images += progress_->images();
  history.wall_s += ledger_.wall();
  for (size_t i = 0; i < kSegments; ++i) {
    history.segments_s[segment_name(static_cast<Segment>(i))] += ledger_.totals()[i];
  }
  history.bytes_read += bytes_read_;
  history.evaluations = experiment_.hub().run().state().evaluations;
  history.bad_samples = budget_.bad();
  history.skipped_by_reason = budget_.by_reason();
  history.tolerated = budget_.times_tolerated();
  history.digest_chain = digests_.chain();
  return history;
}

void Trainer::train_batch(Batch batch) {
  bytes_read_ += static_cast<uint64_t>(batch.cost.bytes_read);
  Device& device = experiment_.device();
  ledger_.switch_to(Segment::h2d);
  const std::shared_ptr<DeviceBatch> on_device = experiment_.on_device(batch);
  batch.pixels.reset();
  ledger_.switch_to(Segment::compute);
  device.run(on_device.get(), [&] {
    if (!computes_) return;
    step_->run(*on_device, position_.step, [this] {
      exchange_time_.end();
      return checkpoints_->before_update();
    });
  });
  // Where nothing is computed, there is no update that would wait for the copy of a checkpoint.
  checkpoints_->without_update();
  ++position_.step;
  score_.reset();
  ledger_.switch_to(Segment::other);
  samples_ = batch.filler ? 0 : batch.size;
  if (computes_) progress_->set_pass(step_->times());
  progress_->add_step(samples_, position_.epoch);
}

void Trainer::report() {
  std::optional<double> loss;
  if (computes_) {
    ledger_.switch_to(Segment::compute);  // reading the loss waits for the device
    loss = loss_of_all(peers_, step_->loss(), static_cast<double>(samples_));
  }
  ledger_.switch_to(Segment::log);
  const double rate = computes_ ? step_->learning_rate(position_.step - 1) : 0;
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
  if (!experiment_.options().evaluation.enabled || experiment_.device().info().emulated ||
      dataset.size(Split::test) == 0) {
    return true;
  }
  ledger_.switch_to(Segment::eval);
  RunMeter& run = experiment_.hub().run();
  run.set_phase(RunPhase::eval);
  const double begin = ledger_.wall();
  if (!test_loader_) test_loader_ = experiment_.make_loader(Split::test);
  EvaluationCounts counts;
  Device& device = experiment_.device();
  test_loader_->start(position_.epoch, 0);
  while (std::optional<Batch> batch = test_loader_->next()) {
    if (agreed_to_stop()) {
      log_.warn("stopped by a signal in the evaluation, which will be done anew");
      return false;
    }
    io_profile_->in_evaluation(position_.step);
    budget_.account(*batch);
    const std::shared_ptr<DeviceBatch> on_device = experiment_.on_device(*batch);
    at::Tensor counted;
    device.run(on_device.get(), [&] {
      if (computes_) counted = step_->count(*on_device, *metric_);
    });
    if (computes_ && !batch->filler) counts.add(counted, batch->size);
    run.add_evaluated(batch->filler ? 0 : batch->size);
  }
  run.set_phase(RunPhase::train);
  add_evaluation(counts_of_all(peers_, counts), ledger_.wall() - begin);
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

void Trainer::write_summary() {
  summary_ = summary_json(experiment_, progress_ ? history() : before_);
  directory_.write("summary.json", json_text(summary_, 2) + "\n");
}

}  // namespace stoker
