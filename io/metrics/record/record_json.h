#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>

#include "io/metrics/record/figures.h"

namespace stoker {

// The version of summary.json. It grows by one when a member changes its meaning or goes. New
// members do not change it.
inline constexpr int kRecordSchema = 2;

// Whether a step, or a batch of the evaluation, ended lately, or the trainer waits for what has a
// time limit of its own (RunMeter::State::stalled_s). Always so in other phases.
bool makes_progress(const RunMeter::State& run, double stalled_after_s);

// The record as one JSON object, each figure at its place (figures.h); beside them in words: what
// the run is, its status, the verdict (io/metrics/verdict/verdict.h), and what the tiers and the
// page cache say of themselves. It is all of /api/status and of summary.json but the run's course
// and its conditions. Times are seconds, shares 0 to 1; what was not measured is left out.
// stalled_after_s: after this time without progress the run counts as stalled.
nlohmann::json to_json(const RunRecord& record,
                       double stalled_after_s = std::numeric_limits<double>::infinity());

// Chosen figures only, as figure_row() reads them: quotients from `window`.
nlohmann::json to_json(std::span<const Figure* const> chosen, const RunRecord& now,
                       const RunRecord& window);

// An element of "evaluations" in either.
// from_json throws nlohmann::json::exception where a member is missing.
void to_json(nlohmann::json& json, const Evaluation& evaluation);
void from_json(const nlohmann::json& json, Evaluation& evaluation);

}  // namespace stoker
