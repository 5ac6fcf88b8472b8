#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/analysis/doctor/finding.h"
#include "app/analysis/run_files.h"

namespace stoker {

// What holds a run up. A value.
struct Diagnosis {
  // bound: findings.front() does. fine: the device has work to do. unknown: `text` says why.
  enum class Outcome { bound, fine, unknown };
  Outcome outcome = Outcome::unknown;
  std::string resource;  // of the first finding; "compute", or "unknown"
  std::string text;
  std::vector<std::string> evidence;  // for the outcome as a whole
  Findings findings;                  // the largest cost first
};

// From the run's files alone.
Diagnosis diagnose(const RunFiles& run);

void to_json(nlohmann::json& json, const Diagnosis& diagnosis);

}  // namespace stoker
