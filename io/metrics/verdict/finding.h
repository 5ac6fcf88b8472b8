#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/metrics/verdict/evidence.h"

namespace stoker {

// Something that costs a run time, and what to do about it. A value.
//
// Costs of different findings may overlap: the device can wait for data and, at another moment of
// the same step, for a copy; what one proposal brings is not added to what another does.
struct Finding {
  std::string cause;  // "storage_latency": a closed set of names, see README.md
  std::string text;   // one sentence
  double cost = 0;    // share of the time that it takes away, the device's where it was observed
  std::vector<std::string> evidence = {};
  // "loader.workers=8": all of them together are what to try. Empty: there is no setting for it.
  std::vector<std::string> overrides = {};
  std::string advice = {};  // what to do beside them, or instead
  bool passes = false;      // the cost ends by itself: nothing can be gained
  // A sentence that says what the cost is, where it is a share of something else.
  std::string price = {};

  // The rate's increase where nothing of the cost is left: 0.5 is half as fast again.
  double gain() const { return passes || cost >= 1 ? 0 : cost / (1 - cost); }
  // "loader.workers=8 (at best +37 % images/s)", or the advice. Empty: there is none.
  std::string next() const;
};

// A group of rules. Nothing in it costs less than a thousandth of the time.
using Findings = std::vector<Finding>;
// Each looks at one kind of cost. Pure functions of what was gathered; the order of their findings
// means nothing.
Findings sharing_findings(const Evidence& evidence);  // who else uses the tier and the cores
Findings input_findings(const Evidence& evidence);    // reading, decoding, working ahead
Findings copy_findings(const Evidence& evidence);
Findings checkpoint_findings(const Evidence& evidence, const nlohmann::json& record);
Findings host_findings(const Evidence& evidence);
Findings rank_findings(const Evidence& evidence, const nlohmann::json& record);

}  // namespace stoker
