#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/train/evaluation.h"
#include "app/train/history.h"
#include "app/train/step.h"
#include "io/core/batch.h"
#include "io/distributed/peers.h"

// What the ranks of a run make of what each of them has; with one rank, what it has. The trainer's
// thread; all ranks call the same function. Errors as Peers'.

namespace stoker {

// Where a run goes on: rank 0's history on rank 0; of it, on the others, what they need. Empty
// where rank 0 has none.
std::optional<RunHistory> history_of_all(Peers& peers, const std::optional<RunHistory>& own,
                                         const ExperimentOptions& options);

// Gives all ranks rank 0's model and optimizer. Error(ExitCode::device) where they are not equal
// after it.
void make_equal(Peers& peers, const TrainStep& step);

// Batch::digests of the whole batch.
std::string digests_of_all(Peers& peers, const Batch& batch);

// The loss of a whole batch: the mean of each rank's, weighted by how many samples it had.
double loss_of_all(Peers& peers, double own, double samples);

// What the run came to on all ranks: the sums of their images and rates, the least and the most of
// other figures with the rank that has them, and each rank's own; null with one rank. own: the
// record of this one (io/metrics/record).
nlohmann::json figures_of_all(Peers& peers, const nlohmann::json& own);

// The counts of all ranks together.
Accuracy accuracy_of_all(Peers& peers, const Accuracy& own);

}  // namespace stoker
