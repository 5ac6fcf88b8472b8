#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment.h"
#include "app/progress.h"
#include "app/run_directory.h"
#include "app/run_log.h"
#include "app/stop_signal.h"
#include "app/train_step.h"
#include "app/training_result.h"
#include "io/loader/failure_budget.h"
#include "io/metrics/ledger.h"

namespace stoker {

// The training loop: batches from the loader to the device, evaluation, reports, and the evidence
// that a run leaves in its directory. One run per object; one thread. All references must outlive
// it.
class Trainer {
 public:
  Trainer(Experiment& experiment, const RunDirectory& directory, RunLog& log,
          const StopSignal& stop);
  ~Trainer();

  // Trains until all steps are done, a signal asks to stop, or something fails; always writes
  // summary.json (and skipped.csv where samples were bad). An Error becomes part of the result, so
  // that what was measured before it is not lost; anything else is thrown.
  TrainingResult run();

 private:
  void train();
  bool train_epoch(int64_t epoch);  // false: a signal asked to stop
  void train_batch(Batch batch);
  void report(int64_t epoch);
  void evaluate(int64_t epoch);
  void write_digest(const Batch& batch);
  void write_files();

  Experiment& experiment_;
  const RunDirectory& directory_;
  RunLog& log_;
  const StopSignal& stop_;
  const SampleSpec spec_;
  TrainingResult result_;
  StepLedger ledger_;
  FailureBudget budget_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Loader> test_loader_;  // made for the first evaluation
  std::unique_ptr<TrainStep> step_;      // null on an emulated device
  std::unique_ptr<Progress> progress_;
  std::ofstream digests_;
};

}  // namespace stoker
