#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/dataset/data_identity.h"
#include "io/loader/failure_budget.h"
#include "io/metrics/course/goodput.h"
#include "io/metrics/run_meter.h"

namespace stoker {

// Where a run stands: the steps that are done, and the batch that comes next. A value.
struct TrainingPosition {
  int64_t step = 0;
  int64_t epoch = 0;
  int64_t batch = 0;  // in that epoch; if all batches are done, the evaluation comes next
};

// What a run has come to in all its processes, beside its tensors: the part of a checkpoint that is
// no tensor. RunRecord (io/metrics/record) has the figures of one process, and more of them; this
// is what has to survive the process. A value.
struct RunHistory {
  TrainingPosition position;
  // How many processes the run has had, this one included.
  int64_t processes = 1;
  // About the process that saved it: its ranks, the samples of a batch of all ranks together, and
  // the batches of an epoch. 0: the checkpoint is older than these figures.
  int64_t ranks = 1;
  int64_t batch_size = 0;
  int64_t batches = 0;
  int64_t images = 0;
  double wall_s = 0;
  // Seconds of the trainer's time by segment ("data_wait"); their sum is wall_s.
  std::map<std::string, double> segments_s;
  uint64_t bytes_read = 0;
  // In their order; of very many only some (Evaluations).
  std::vector<Evaluation> evaluations;
  FailureCounts failures;
  // What the training did with its time. Absent: the checkpoint is older than this.
  std::optional<Goodput> goodput;
  // The digest of all batches so far. Empty without loader.digest.
  std::string digest_chain;
};

// The history as a checkpoint holds it, with the configuration of the run and its data.
nlohmann::json to_json(const RunHistory& history, const ExperimentOptions& options,
                       const DataIdentity& data);
// The sums of all processes: its "totals", and "total" of summary.json.
nlohmann::json totals_json(const RunHistory& history);

// The history that a checkpoint holds, and the data that it was trained on (empty: it is older than
// that). Error(ExitCode::storage) where `training` is not what to_json() wrote.
RunHistory run_history(const nlohmann::json& training);
std::optional<DataIdentity> trained_on(const nlohmann::json& training);

// Where a run with these options goes on: at the same sample of the epoch, whatever its batches are
// now. batches: those of an epoch. Error(ExitCode::config) where that is within a batch, or where
// each rank has files of its own (loader.order) and their number or the batches have changed since.
TrainingPosition resumed_position(const RunHistory& history, const ExperimentOptions& options,
                                  int64_t ranks, int64_t batches);

// "optimizer.lr: 0.1 -> 0.01", for every option that changes what is computed and differs between
// the run that wrote `training` and `options`. Loaders, tiers and checkpoints may differ freely.
std::vector<std::string> config_differences(const nlohmann::json& training,
                                            const ExperimentOptions& options);

}  // namespace stoker
