#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/config/node.h"
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

// What holds a run up, in words and for programs. A value. It is made from the record of the run
// (to_json() of io/metrics/record/record_json.h) and its configuration by the rules of this folder,
// and nowhere else: the end of a run, the live page, the report and `stoker doctor` all show it.
//
// Costs are shares of the device's time where a device was observed, else of the trainer's: a wait
// that is hidden behind queued work costs nothing.
struct Verdict {
  // What decides, as its words say it: below kModerateShare of the time it is fine, to kBoundShare
  // moderate, above it bound by its group of causes.
  enum class Level {
    unknown,  // `text` says why
    fine,
    moderate,
    input_bound,
    host_bound,
    checkpoint_bound,
    peers_bound,
    contended,  // by other processes
    stalled,
    failed
  };
  Level level = Level::unknown;
  std::string cause = "unknown";  // that of the first finding, "compute", or "unknown"
  std::string text;               // one sentence or two
  // What to try next: "loader.workers=8 (at best +37 % images/s)", or in words. Empty: nothing.
  std::string next;
  // What it is concluded from, a line each. The first says what waiting for data cost.
  std::vector<std::string> evidence;
  Findings findings;  // the largest cost first
};
// "input_bound": the word for programs. "Input-bound": the same for people.
const char* to_string(Verdict::Level level);
const char* title_of(Verdict::Level level);
// The same by the word for programs; what is not one of them stays as it is.
std::string title_of(const std::string& word);

// Of a record, finished or not. A pure function; any thread. nlohmann::json::exception where a
// member is of another type than the program writes.
Verdict judge(const nlohmann::json& record, const Node& config);

// {level, title, cause, text, next, evidence, findings}: as summary.json, /api/status and
// `stoker doctor --json` have it.
void to_json(nlohmann::json& json, const Verdict& verdict);

// The same for shares that cost the device something, which alone have a colour: at the place of
// each in the record {level, text}, and the two bounds between the levels.
nlohmann::json judged_shares(const nlohmann::json& record);

}  // namespace stoker
