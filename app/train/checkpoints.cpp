// How a checkpoint and the training share the state.
//
//  1. offer() asks the checkpointer whether a checkpoint is due. If it is, capture() hands over the
//     addresses of all tensors. Buffers that the next forward pass changes are copied at once.
//  2. offer() returns, and the checkpointer's threads copy the state. The next forward and backward
//     pass run meanwhile, because they change no parameter.
//  3. before_update() waits for the end of the copy: from then on the tensors may change, and the
//     checkpointer writes the copy.
//  4. With snapshot: swap nothing is copied. finish_copy() gives other memory instead, which the
//     update writes its results to (BackBuffer), and the checkpointer writes the old memory.
//  5. If the run ends, or the step computes nothing, no update comes: without_update() takes its
//     place.
//
// The trainer may wait in offer() and in before_update(). Both are one stall of one checkpoint.

#include "app/train/checkpoints.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "io/metrics/hub.h"

namespace stoker {

RunCheckpoints::RunCheckpoints(Experiment& experiment, const TrainStep* step, StepLedger& ledger,
                               RunLog& log, const StopSignal& stop)
    : experiment_(experiment), ledger_(ledger), log_(log) {
  if (!experiment.options().checkpoint.info().saves) return;
  data_ = identity_of(experiment.dataset());
  const DeviceInfo& device = experiment.device().info();
  tensors_ = std::make_unique<TrainingTensors>(
      *step, device.emulated ? at::Device(at::kCPU) : device.torch_device);
  checkpointer_ = experiment.make_checkpointer(
      tensors_->infos(), [&stop] { return stop.when(); },
      [&log](const std::string& text) { log.warn(text); });
  if (auto places = checkpointer_->finish_copy()) tensors_->back_buffer(*places)->finish();
}

std::optional<RunHistory> RunCheckpoints::load(RunInfo& info) {
  if (!checkpointer_) return std::nullopt;
  const TimePoint begin = Clock::now();
  const std::optional<LoadedState> loaded = checkpointer_->load();
  if (!loaded) return std::nullopt;
  for (const std::string& difference :
       config_differences(loaded->training(), experiment_.options())) {
    log_.warn("resuming with another configuration: " + difference);
  }
  RunHistory history = run_history(loaded->training());
  compare_data(loaded->training(), history);
  tensors_->restore(*loaded, experiment_.options().checkpoint.info().readers);
  log_.info(fmt::format("resumed from {} (step {}, epoch {}, batch {}) in {:.2f} s", loaded->path(),
                        history.position.step, history.position.epoch, history.position.batch,
                        seconds(Clock::now() - begin)));
  experiment_.hub().checkpoints().finished(CheckpointPart::restore, begin, Clock::now(),
                                           history.position.step);
  info.resumed_from = loaded->path();
  ++history.processes;
  return history;
}

void RunCheckpoints::compare_data(const nlohmann::json& training, const RunHistory& history) const {
  const std::optional<DataIdentity> before = trained_on(training);
  if (!before) return;
  const std::string classes = other_classes(*before, data_);
  const std::string others = "the checkpoint was trained on other classes: " + classes;
  if (!classes.empty() && !experiment_.options().checkpoint.info().renamed_classes) {
    throw Error(ExitCode::config,
                fmt::format("checkpoint: {}: give the data set its classes back, begin anew with "
                            "checkpoint.resume=none, or, if every label means what it did before, "
                            "set checkpoint.renamed_classes=true",
                            others));
  }
  if (!classes.empty()) log_.warn(others);
  const std::string samples = other_samples(*before, data_);
  if (samples.empty()) return;
  const TrainingPosition& at = history.position;
  const bool within =
      at.batch > 0 && at.batch < history.batches && before->train.hash != data_.train.hash;
  log_.warn(fmt::format("resuming with other data than the checkpoint was trained on: {}{}",
                        samples,
                        within ? fmt::format("; in what is left of epoch {} samples may come twice "
                                             "or not at all",
                                             at.epoch)
                               : ""));
}

void RunCheckpoints::offer(const CheckpointOffer& offer, const std::function<RunHistory()>& history,
                           std::optional<double> score) {
  if (!checkpointer_) return;
  ledger_.switch_to(Segment::checkpoint_stall);
  const TimePoint begin = Clock::now();
  const bool began = checkpointer_->save(offer, [&] {
    without_update();  // since the last save, which was lost and is tried again
    ledger_.switch_to(Segment::checkpoint_stall);
    TrainingState state;
    state.step = offer.step;
    state.score = score;
    state.training = to_json(history(), experiment_.options(), data_);
    if (score) state.training["score"] = *score;
    tensors_->capture(state);
    return state;
  });
  if (began) {
    copying_ = true;
    blocked(begin, step_ = offer.step, offer.last);
    publish();
  }
  ledger_.switch_to(Segment::other);
}

BackBuffer* RunCheckpoints::before_update() {
  if (!copying_) return nullptr;
  ledger_.switch_to(Segment::checkpoint_stall);
  const TimePoint begin = Clock::now();
  const std::optional<StatePlaces> places = checkpointer_->finish_copy();
  back_buffer_ = places ? tensors_->back_buffer(*places) : nullptr;
  blocked(begin, step_, true);
  ledger_.switch_to(Segment::compute);
  copying_ = false;
  return back_buffer_.get();
}

void RunCheckpoints::without_update() {
  BackBuffer* const back = before_update();
  if (back == nullptr) return;
  ledger_.switch_to(Segment::checkpoint_stall);
  back->finish();
  ledger_.switch_to(Segment::compute);
}

bool RunCheckpoints::flush() {
  if (!checkpointer_) return true;
  publish();
  const TimePoint begin = Clock::now();
  const bool complete = checkpointer_->flush();
  flush_s_ = seconds(Clock::now() - begin);
  publish();
  if (complete) return true;
  const CheckpointStatus status = checkpointer_->status();
  log_.warn(fmt::format(
      "checkpoints: not every set is on its last tier; newest set: step {}, on the "
      "last tier: step {}, left to drain: {}",
      status.saved_step.value_or(-1), status.durable_step.value_or(-1), status.drains_left));
  return false;
}

void RunCheckpoints::publish() {
  if (!checkpointer_) return;
  CheckpointStatus status = checkpointer_->status();
  if (!status.save_s.empty()) status.save_times = spread(status.save_s);
  if (!status.drain_s.empty()) status.drain_times = spread(status.drain_s);
  status.flush_s = flush_s_;
  experiment_.hub().checkpoints().set_status(status);
}

// The trainer waits for one checkpoint up to twice: where it begins, and before the next update.
void RunCheckpoints::blocked(TimePoint begin, int64_t step, bool over) {
  blocked_ += Clock::now() - begin;
  if (!over) return;
  const TimePoint end = Clock::now();
  experiment_.hub().checkpoints().finished(CheckpointPart::blocked, end - blocked_, end, step);
  blocked_ = {};
}

std::string RunCheckpoints::lost(ExitCode code) {
  if (!checkpointer_) return "";
  publish();
  const CheckpointStatus status = checkpointer_->status();
  const bool lost = status.failed > 0 || status.drains_left > 0 || status.hung;
  const bool none = status.saved_step.value_or(-1) < 0;
  // After a signal there is another process to go on, from any good set.
  if (!(code == ExitCode::ok && lost) && !(code == ExitCode::sigterm && none)) return "";
  return "checkpoints: " + (status.last_error.empty()
                                ? std::string("not every set is on its last tier (see the log)")
                                : status.last_error);
}

}  // namespace stoker
