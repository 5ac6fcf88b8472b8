#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/config/node.h"
#include "io/metrics/verdict/finding.h"

namespace stoker {

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
