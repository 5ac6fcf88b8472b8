#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/analysis/doctor/evidence.h"

namespace stoker {

// Something that costs a run time, and what to do about it. A value.
struct Finding {
  std::string resource;  // "storage_latency": a closed set of names, see README.md
  std::string text;      // one sentence
  double cost = 0;       // share of the time that it takes away
  std::vector<std::string> evidence;
  // "loader.workers=8": all of them together are what to try. Empty: there is no setting for it.
  std::vector<std::string> overrides;
  std::string advice;  // what to do beside them, or instead
  // The rate's increase that the overrides may bring at best: 0.5 is half as fast again.
  double gain = 0;
};

// A group of rules. Nothing in it costs less than a thousandth of the time.
using Findings = std::vector<Finding>;
Findings input_findings(const Evidence& evidence);  // reading, decoding, working ahead
Findings storage_findings(const Evidence& evidence, double cost);
Findings decode_findings(const Evidence& evidence, double cost);
Findings copy_findings(const Evidence& evidence);
Findings checkpoint_findings(const Evidence& evidence, const nlohmann::json& summary);
Findings host_findings(const Evidence& evidence);

// What losing `cost` of the time less would make of the rate.
double gain_of(double cost);

}  // namespace stoker
