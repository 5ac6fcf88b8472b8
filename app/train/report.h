#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/train/history.h"
#include "io/core/batch.h"
#include "io/loader/failure_budget.h"

namespace stoker {

// Describes the run by its configuration and its opened parts. The number of steps is added once it
// is known. May be called at any time. The trainer's thread.
RunInfo run_info(Experiment& experiment, const std::string& run_dir);

// The contents of summary.json: the record of the run (io/metrics/record/record_json.h) with
//
//   conditions       the tiers' types, the checkpoints' options, the state of the page cache, and
//                    compute: false if nothing was computed
//   evaluations      those of the history, in their order: {epoch, step, samples, seconds} and the
//                    measures
//   skipped          samples replaced, by reason, in all processes of the run
//   tolerated        damaged samples that were used (decoder.tolerance), in all processes
//   slowest_samples  {"read": [{key, epoch, index, bytes, seconds}], "decode": [...]} of the
//                    training split, slowest first
//   checkpoints.operations  [{part, step, begin_s, end_s, bytes}], in seconds since the loop began
//   total            `total`: sums of all processes of the run
//
// Call it when the run has ended. The trainer's thread.
nlohmann::json summary_json(Experiment& experiment, const RunHistory& total);

// The same as text: what was done and measured, without what is zero; then a block with the
// verdict, what shows it, and what to do next. The last line has the path of the run directory.
// colours: for a terminal that has them.
std::string summary_text(const nlohmann::json& summary, bool colours = false);

// The contents of skipped.csv: a row for each time a bad sample was met. Empty if there were no bad
// samples.
std::string skipped_csv(const std::vector<SkippedSample>& skipped);
// The contents of tolerated.csv: a row for each damaged sample that was used. Empty if there were
// no such samples.
std::string tolerated_csv(const std::map<std::string, FailureBudget::Tolerated>& tolerated);

}  // namespace stoker
