#include "app/run_checkpoints.h"

#include <fmt/format.h>

#include <utility>

namespace stoker {

RunCheckpoints::RunCheckpoints(Experiment& experiment, const TrainStep* step, StepLedger& ledger,
                               RunLog& log, const StopSignal& stop)
    : experiment_(experiment), ledger_(ledger), log_(log) {
  if (experiment.options().checkpoint.type() == "none") return;
  const DeviceInfo& device = experiment.device().info();
  tensors_ = std::make_unique<TrainingTensors>(
      *step, device.emulated ? torch::Device(torch::kCPU) : device.torch_device);
  checkpointer_ = experiment.make_checkpointer(
      tensors_->infos(), [&stop] { return stop.when(); },
      [&log](const std::string& text) { log.warn(text); });
}

std::optional<TrainingRecord> RunCheckpoints::load(TrainingResult& result) {
  if (!checkpointer_) return std::nullopt;
  const TimePoint begin = Clock::now();
  const std::optional<LoadedState> loaded = checkpointer_->load();
  if (!loaded) return std::nullopt;
  for (const std::string& difference :
       config_differences(loaded->training(), experiment_.options())) {
    log_.warn("resuming with another configuration: " + difference);
  }
  tensors_->restore(*loaded);
  TrainingRecord record = training_record(loaded->training());
  log_.info(fmt::format("resumed from {} (step {}, epoch {}, batch {}) in {:.2f} s", loaded->path(),
                        record.position.step, record.position.epoch, record.position.batch,
                        seconds(Clock::now() - begin)));
  result.resumed_from = loaded->path();
  result.resumed_step = record.position.step;
  ++record.processes;
  return record;
}

void RunCheckpoints::offer(const CheckpointOffer& offer,
                           const std::function<TrainingRecord()>& record,
                           std::optional<double> score) {
  if (!checkpointer_) return;
  ledger_.switch_to(Segment::checkpoint_stall);
  copying_ = checkpointer_->save(offer, [&] {
    TrainingState state;
    state.step = offer.step;
    state.score = score;
    state.training = to_json(record(), experiment_.options());
    if (score) state.training["score"] = *score;
    tensors_->capture(state);
    return state;
  });
  ledger_.switch_to(Segment::other);
}

void RunCheckpoints::before_update() {
  if (!copying_) return;
  ledger_.switch_to(Segment::checkpoint_stall);
  checkpointer_->finish_copy();
  ledger_.switch_to(Segment::compute);
  copying_ = false;
}

bool RunCheckpoints::flush() {
  if (!checkpointer_ || checkpointer_->flush()) return true;
  const CheckpointStatus status = checkpointer_->status();
  log_.warn(fmt::format(
      "checkpoints: not everything is where it belongs; newest set: step {}, on the "
      "last tier: step {}, left to drain: {}",
      status.saved_step.value_or(-1), status.durable_step.value_or(-1), status.drains_left));
  return false;
}

std::optional<CheckpointReport> RunCheckpoints::now() {
  if (!checkpointer_) return std::nullopt;
  const CheckpointStatus status = checkpointer_->status();
  return CheckpointReport{status.saved, status.failed, status.drains_left, status.durable_step,
                          status.degraded};
}

void RunCheckpoints::report(TrainingResult& result) {
  if (!checkpointer_) return;
  result.checkpoints = checkpointer_->status();
  const CheckpointStatus& status = *result.checkpoints;
  const bool lost = status.failed > 0 || status.drains_left > 0 || status.hung;
  const bool none = status.saved_step.value_or(-1) < 0;
  // After a signal there is another process to go on, from any good set.
  if ((result.exit_code == ExitCode::ok && lost) ||
      (result.exit_code == ExitCode::sigterm && none)) {
    result.exit_code = ExitCode::storage;
    result.error =
        "checkpoints: " + (status.last_error.empty()
                               ? std::string("not all are where they belong (see the log)")
                               : status.last_error);
  }
}

}  // namespace stoker
