#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/analysis/bootstrap.h"
#include "app/sweep/results.h"

namespace stoker {

// put_in: the figure was put into the emulation, so it is no finding.
enum class FindingVerdict { within, outside, put_in, not_measured };
const char* to_string(FindingVerdict verdict);

// A statement and what came of it.
struct SweepFinding {
  FindingOptions statement;
  // From the medians of the repetitions; low and high are the least and the most that their
  // minima and maxima allow.
  std::optional<Interval> measured;
  FindingVerdict verdict = FindingVerdict::not_measured;
};

// All findings of the sweep. A statement about something that was fitted is "put in", whatever was
// measured.
std::vector<SweepFinding> judge(const SweepOptions& options, const SweepPlan& plan,
                                const SweepResults& results);

nlohmann::json finding_json(const SweepFinding& finding);

}  // namespace stoker
