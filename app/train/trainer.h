#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/process/log.h"
#include "app/process/stop_signal.h"
#include "app/run/directory.h"
#include "app/train/cache_watch.h"
#include "app/train/checkpoints.h"
#include "app/train/lifetime.h"
#include "app/train/progress.h"
#include "app/train/ranks/step_vote.h"
#include "app/train/sinks.h"
#include "app/train/step.h"
#include "app/train/wait_watch.h"
#include "app/train/windows/io_window.h"
#include "app/train/windows/profile_window.h"
#include "io/device/exchange_time.h"
#include "io/distributed/peers.h"
#include "io/loader/failure_budget.h"
#include "io/metrics/ledger.h"

namespace stoker {

// The training loop: batches from the loader to the device, evaluation, reports, and the evidence
// that a run leaves in its directory. One run per object. One thread, the trainer's: it makes the
// object, calls run(), and calls every method of the step, the ledger and the device; loader,
// checkpointer, sinks and the look at the page cache have threads of their own. All references must
// outlive it.
class Trainer {
 public:
  // Writes environment.json. loader: gives the training batches instead of the experiment's own
  // loader, for measurements; owned. peers: connects the experiment's ranks. IoError if the run
  // directory cannot be written.
  Trainer(Experiment& experiment, RunDirectory& directory, RunLog& log, StopSignal& stop,
          Peers& peers, std::unique_ptr<Loader> loader = nullptr);
  ~Trainer();

  // Trains until all steps are done, a signal asks to stop, or something fails; always writes
  // summary.json, and skipped.csv and tolerated.csv if samples were bad or damaged, before the
  // sinks are flushed, and again if the flush fails or the sink `timelogger` adds to it. An Error,
  // or a shortage of the machine, becomes part of the record, so that what was measured before it
  // is not lost; anything else is thrown. started: called when the first batch is there, or when it
  // is known that no batch will come.
  RunRecord run(std::function<void()> started = [] {});
  // After run(): what summary.json holds. Lives as long as the trainer.
  const nlohmann::json& summary() const { return summary_; }
  // After run(): true if writes of checkpoints, or reads of data, go on that cannot be waited for.
  // The process should then end without destroying them.
  bool abandoned() const { return abandoned_; }

 private:
  // The whole run except its end: set-up, resume, loop, and the last checkpoints. Throws what ends
  // it.
  void train();
  // Sets up LibTorch, the loader, the step and the checkpoints, and counts the steps to come.
  void prepare();
  // Writes a file of the run directory by `f`. If that fails, training goes on, but the run's exit
  // code is an error.
  template <class F>
  void write_file(F&& f);
  // Writes skipped.csv and tolerated.csv, if there is something to write.
  void write_samples();
  // Looks whether somebody has renamed or removed the run directory. The log says so once.
  void look_for_directory();
  // Notes that the run ends with this code and error.
  void fail(ExitCode code, const std::string& error);
  // Publishes how the run has ended: phase, exit code and error.
  void end();
  // Goes on from a checkpoint if checkpoint.resume says so and there is one. All ranks take rank
  // 0's history.
  void resume(RunInfo& info);
  // ahead: by how many batches the place in the data is ahead of the number of steps. It is not 0
  // if a resumed run has batches of another size.
  void plan_steps(int64_t ahead);
  void loop();
  // Trains from position_ to the end of its epoch, or of the run. False: the run is over, or a
  // signal asked to stop.
  bool train_epoch();
  // The loader's next batch, which has to come. Empty: a signal ended the wait.
  std::optional<Batch> next_batch(Loader& loader);
  // Makes a step of the batch together with the other ranks. Without one it only takes part in what
  // they do. False: the step does not count, for a rank had no batch.
  bool make_step(std::optional<Batch> batch);
  // Takes all ranks' votes on the step or batch under way (StepVote::counts).
  bool counts();
  // Counts the batch that a step is about to learn from: its bad samples, its digest.
  void account(const Batch& batch);
  // Reports to the sinks. Reading the loss waits for the device.
  void report();
  // Checks a value that must be finite, by training.on_nan. Error(ExitCode::threshold) if that says
  // stop.
  void require_finite(const char* what, double value);
  // Evaluates. Does nothing if nothing is to be evaluated. False: a signal asked to stop.
  bool evaluate();
  // Of this rank's part. False: likewise.
  bool evaluate(EvaluationCounts& counts);
  void add_evaluation(const EvaluationCounts& counts, double took);
  // Tells the checkpointer that a set may be saved here; it decides whether one is.
  void offer_checkpoint(bool epoch_ended, bool last);
  // The history of the run, earlier processes included.
  RunHistory history();
  // After the sinks are flushed: rank 0 computes what the records of all ranks' sinks `timelogger`
  // come to, for the summary. Does nothing without that sink, or if the run has failed.
  void add_time_log();
  // Writes summary.json, with figures of the I/O profiler and the TimeLogger where there are any,
  // and sets summary(). May be called again.
  void write_summary();

  Experiment& experiment_;
  // True if there are a loss and an accuracy: the device is not emulated, and training.compute is
  // on.
  const bool computes_;
  RunDirectory& directory_;
  RunLog& log_;
  StopSignal& stop_;
  Peers& peers_;
  StepVote vote_;
  // How the run ends, as far as it is known.
  ExitCode code_ = ExitCode::ok;
  std::string error_;
  bool abandoned_ = false;
  bool unevaluated_ = false;  // a signal came in an evaluation
  std::string moved_;         // what became of the run directory; empty: nothing
  nlohmann::json summary_;
  nlohmann::json time_log_;  // null: there are no figures of it
  // Measurements.
  StepLedger ledger_;
  ExchangeTime exchange_time_;
  FailureBudget budget_;
  // Null: this is no training, but a measurement, or not the first rank.
  std::unique_ptr<Lifetime> lifetime_;
  std::unique_ptr<CacheWatch> cache_;
  std::unique_ptr<Loader> loader_;
  // Made for the first evaluation.
  std::unique_ptr<Loader> test_loader_;
  // Null if nothing is computed and no checkpoint is saved.
  std::unique_ptr<TrainStep> step_;
  // Null if nothing is computed or evaluated.
  std::unique_ptr<Metric> metric_;
  std::unique_ptr<RunCheckpoints> checkpoints_;
  std::unique_ptr<RunSinks> sinks_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<ProfileWindow> profile_;
  std::unique_ptr<IoWindow> io_profile_;
  const IoTotals io_totals_;
  DigestLog digests_;
  // Where the run stands.
  int64_t per_epoch_ = 0;      // batches
  int64_t steps_planned_ = 0;  // for the whole run, earlier processes included
  TrainingPosition position_;
  std::function<void()> started_;
  // The first batch of this process has yet to come.
  bool first_batch_ = true;
  int64_t samples_ = 0;  // this rank's part of the last batch
  // Encoded bytes that this process has read.
  uint64_t bytes_read_ = 0;
  // The history of the processes before this one.
  RunHistory before_;
  // The score of the last evaluation, if no step has followed: that of the present weights.
  std::optional<double> score_;
};

}  // namespace stoker
