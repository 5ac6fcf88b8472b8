#pragma once

#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/train/history.h"
#include "app/train/step.h"
#include "io/core/batch.h"
#include "io/core/ranks/rank_group.h"
#include "io/device/exchange_time.h"
#include "io/distributed/peers.h"
#include "io/metrics/hub.h"

// What the ranks of a run get from what each of them has. With one rank, it is what that rank has.
// The trainer's thread; all ranks call the same function. Errors as Peers'.

namespace stoker {

// The history with which a rank goes on. The saved one is rank 0's, and the other ranks take only
// what they need from it.
RunHistory own_history(const Ranks& ranks, const RunHistory& first);

// Gives all ranks rank 0's model and optimizer, and joins their steps: from then on gradients are
// exchanged. Emulated devices exchange only times. All must outlive the steps.
// Error(ExitCode::device) if the states are not equal after that.
void join_ranks(Peers& peers, TrainStep& step, Experiment& experiment, StepLedger& ledger,
                ExchangeTime& exchange_time);

// The digests of the whole batch (Batch::digests), from those of each rank's part.
std::string digests_of_all(Peers& peers, const Batch& batch);

// The loss of a whole batch: the mean of the ranks' losses, weighted by their numbers of samples.
double loss_of_all(Peers& peers, double own, double samples);

// Puts the times of all ranks into the run's meter in the hub of rank 0.
void tell_times(Peers& peers, Hub& hub);

// The address of this rank that others can reach (RunInfo::address).
std::string address_among(Peers& peers);

// Writes into rank 0's targets.json where the metrics of all ranks can be scraped (sink
// `prometheus`).
void tell_targets(Peers& peers, const std::string& run_dir);

// The counts of all ranks together. A rank may have no counts.
EvaluationCounts counts_of_all(Peers& peers, const EvaluationCounts& own);

// What all ranks of a training have to have in common, for none of them sees the others' files and
// command lines. What differs is the same Error on every one of them, which names it, each value,
// and who has it. With one rank, nothing happens. Errors also as RankGroup::meet.

// The configuration and the program. What a machine has for itself may differ: tiers, directories,
// workers, threads, sinks, the options of the device. Error(ExitCode::config).
void require_same_configuration(RankGroup& group, const ExperimentOptions& options);

// The data set as each rank found it, and the kind of device. Error(ExitCode::environment).
void require_same_data(RankGroup& group, Experiment& experiment);

}  // namespace stoker
