#pragma once

#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/train/evaluation.h"
#include "app/train/history.h"
#include "app/train/step.h"
#include "io/core/batch.h"
#include "io/device/exchange_time.h"
#include "io/distributed/peers.h"
#include "io/metrics/hub.h"

// What the ranks of a run make of what each of them has; with one rank, what it has. The trainer's
// thread; all ranks call the same function. Errors as Peers'.

namespace stoker {

// Where a rank of a run goes on: the history that was saved is rank 0's; of it, the others' is only
// what they need.
RunHistory own_history(const Ranks& ranks, const RunHistory& first);

// Gives all ranks rank 0's model and optimizer, and joins their steps: the gradients are exchanged;
// of emulated devices, the times. All must outlive the steps. Error(ExitCode::device) where the
// states are not equal then.
void join_ranks(Peers& peers, TrainStep& step, Experiment& experiment, StepLedger& ledger,
                ExchangeTime& exchange_time);

// Batch::digests of the whole batch.
std::string digests_of_all(Peers& peers, const Batch& batch);

// The loss of a whole batch: the mean of each rank's, weighted by how many samples it had.
double loss_of_all(Peers& peers, double own, double samples);

// Where all ranks stand, into the run's meter in the hub of rank 0.
void tell_times(Peers& peers, Hub& hub);

// RunInfo::address of this rank.
std::string address_among(Peers& peers);

// Where all ranks' metrics can be scraped (the sink `prometheus`), into rank 0's targets.json.
void tell_targets(Peers& peers, const std::string& run_dir);

// The counts of all ranks together. A rank may have none.
EvaluationCounts counts_of_all(Peers& peers, const EvaluationCounts& own);

}  // namespace stoker
