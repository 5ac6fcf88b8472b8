#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/experiment/experiment.h"
#include "app/run/log.h"
#include "app/run/stop_signal.h"
#include "app/train/across_ranks.h"
#include "app/train/history.h"
#include "app/train/step.h"
#include "app/train/tensors.h"
#include "io/metrics/ledger.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// A run's checkpoints: what the trainer saves, when it may go on, and what became of it. The time
// that the trainer waits is segment checkpoint_stall of the ledger. Without checkpoints in the
// configuration every method does nothing: no stall is counted, and the record has none. The
// trainer's thread; references must outlive it.
class RunCheckpoints {
 public:
  // Allocates and faults in the snapshot memory, which takes as long as it is large. `step` may be
  // null where type is none.
  RunCheckpoints(Experiment& experiment, const TrainStep* step, StepLedger& ledger, RunLog& log,
                 const StopSignal& stop);

  // As checkpoint.resume says: restores tensors and random generators and returns the history, and
  // `info` then says from what. Empty: the run begins at step 0. Error(ExitCode::config) for a
  // checkpoint of another model; else as Checkpointer::load.
  std::optional<RunHistory> load(RunInfo& info);
  // Saves a checkpoint where one is due; `history` is asked for only then. The copy of the state
  // may go on afterwards: before_update() ends it. score: of the evaluation of these weights.
  void offer(const CheckpointOffer& offer, const std::function<RunHistory()>& history,
             std::optional<double> score);
  // Waits until the tensors may change; call it before every update. Where it returns a twin
  // (snapshot: swap), the update has to write into that, and to finish it. The twin lives until the
  // next call.
  Twin* before_update();
  // The same where there is no update: the tensors are copied into the twin.
  void without_update();
  // Waits until all checkpoints are on their last tier (Checkpointer::flush), and logs what is
  // left. False: something is.
  bool flush();
  // How they stand, into the hub.
  void publish();
  // What a run that would end with `code` has lost, in words; its exit code is ExitCode::storage
  // then. Empty: nothing, or nothing that the next process could not go on without.
  std::string lost(ExitCode code);

 private:
  // The trainer waited since `begin`. over: for the last time for this set.
  void blocked(TimePoint begin, int64_t step, bool over);

  Experiment& experiment_;
  StepLedger& ledger_;
  RunLog& log_;
  std::unique_ptr<TrainingTensors> tensors_;
  std::unique_ptr<Checkpointer> checkpointer_;  // null: none
  bool copying_ = false;
  std::unique_ptr<Twin> twin_;
  std::optional<double> flush_s_;
  // Of the newest save: its step, and how long the trainer has waited for it.
  int64_t step_ = -1;
  Clock::duration blocked_{};
};

}  // namespace stoker
