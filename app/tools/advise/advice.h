#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/tools/advise/choice.h"
#include "io/storage/cached/staging.h"

namespace stoker {

// One way to stage: which objects, and how long the run takes then. A value.
struct StagingWay {
  std::string name;
  Chosen chosen;
  PredictedTime run;
};

// What `stoker advise` has to say. A value.
struct Advice {
  std::string tier;
  std::string slow_source, fast_source;  // where their cost models are from, in words
  std::string reads_source;              // where the reads of each object are from, in words
  uint64_t capacity = 0;
  double epochs = 0;
  RunPace pace;
  std::vector<ObjectUse> uses;
  // Nothing staged, the rule, the adviser's choice, everything.
  std::vector<StagingWay> ways;
  // Which of them is the plan.
  size_t planned = 0;
  // Seconds of the run that was given, and what the model says they should have been. 0: no run was
  // given.
  double run_was_s = 0;
  double run_modelled_s = 0;

  // The planned objects, in the order of their first reads.
  StagingPlan plan() const;
};

std::string advice_text(const Advice& advice);
nlohmann::json advice_json(const Advice& advice);
// What the plan's file says in addition to its objects.
nlohmann::ordered_json plan_facts(const Advice& advice);

}  // namespace stoker
