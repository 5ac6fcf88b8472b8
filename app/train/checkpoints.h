#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/experiment/experiment.h"
#include "app/process/log.h"
#include "app/process/stop_signal.h"
#include "app/train/history.h"
#include "app/train/ranks/across_ranks.h"
#include "app/train/step.h"
#include "app/train/tensors.h"
#include "io/metrics/ledger.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// A run's checkpoints: what the trainer saves, when it may go on, and what became of it. The time
// that the trainer waits is segment checkpoint_stall of the ledger. Without checkpoints in the
// configuration every method does nothing: no stall is counted, and the record has no checkpoints.
// The trainer's thread; references must outlive it.
class RunCheckpoints {
 public:
  // Allocates the snapshot memory and touches every page of it, which takes the longer the larger
  // it is. `step` may be null if checkpoint.type is none.
  RunCheckpoints(Experiment& experiment, const TrainStep* step, StepLedger& ledger, RunLog& log,
                 const StopSignal& stop);

  // Resumes as checkpoint.resume says: restores tensors and random generators, returns the history,
  // and writes into `info` what it resumed from. Empty: the run begins at step 0.
  // Error(ExitCode::config) for a checkpoint of another model or of other classes; else as
  // Checkpointer::load. The log says whether the samples are others than they were.
  std::optional<RunHistory> load(RunInfo& info);
  // Saves a checkpoint where one is due; `history` is asked for only then. The copy of the state
  // may go on afterwards: before_update() ends it. score: from the evaluation of these weights.
  void offer(const CheckpointOffer& offer, const std::function<RunHistory()>& history,
             std::optional<double> score);
  // Waits until the tensors may change; call it before every update. Where it returns a back buffer
  // (snapshot: swap), the update has to write into that, and to finish it. The back buffer lives
  // until the next call.
  BackBuffer* before_update();
  // The same where there is no update: the tensors are copied into the back buffer.
  void without_update();
  // Waits until all checkpoints are on their last tier (Checkpointer::flush), and logs what is
  // left. False: something is left.
  bool flush();
  // Writes the state of all checkpoints to the hub.
  void publish();
  // What a run that would end with `code` has lost, in words. If it has lost something, its exit
  // code is ExitCode::storage. Empty: it has lost nothing, or nothing that the next process needs.
  std::string lost(ExitCode code);

 private:
  // Compares the data with those that a checkpoint was trained on.
  void compare_data(const nlohmann::json& training, const RunHistory& history) const;
  // The trainer waited since `begin`. over: this was the last time for this set.
  void blocked(TimePoint begin, int64_t step, bool over);

  Experiment& experiment_;
  StepLedger& ledger_;
  RunLog& log_;
  DataIdentity data_;
  std::unique_ptr<TrainingTensors> tensors_;
  std::unique_ptr<Checkpointer> checkpointer_;  // null: none
  bool copying_ = false;
  std::unique_ptr<BackBuffer> back_buffer_;
  std::optional<double> flush_s_;
  // The step of the newest save, and how long the trainer has waited for it.
  int64_t step_ = -1;
  Clock::duration blocked_{};
};

}  // namespace stoker
