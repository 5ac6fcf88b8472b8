#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/experiment/experiment.h"
#include "app/run/directory.h"
#include "app/train/training_result.h"

namespace stoker {

// The contents of summary.json ("schema_version": 1). Every figure has its conditions beside it;
// what was not measured is absent.
nlohmann::json summary_json(Experiment& experiment, const RunDirectory& directory,
                            const TrainingResult& result);

// An element of its "evaluations".
nlohmann::json evaluation_json(const Evaluation& evaluation);

// The same for people: some lines that end with the path of the run directory.
std::string summary_text(Experiment& experiment, const RunDirectory& directory,
                         const TrainingResult& result);

// skipped.csv: a row per bad sample and time it was met.
std::string skipped_csv(const TrainingResult& result);

}  // namespace stoker
