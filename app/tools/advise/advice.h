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
  std::string slow_source, fast_source;  // of their cost models, in words
  std::string reads_source;              // of what is read of each object, likewise
  uint64_t capacity = 0;
  double epochs = 0;
  RunPace pace;
  std::vector<ObjectUse> uses;
  // Nothing staged, the rule, the adviser's choice, everything.
  std::vector<StagingWay> ways;
  // Of them, the one that is the plan.
  size_t planned = 0;
  // Seconds of the run that was there, and what the model says it should have been; 0: there was
  // none.
  double run_was_s = 0;
  double run_modelled_s = 0;

  // The planned objects, in the order of their first reads.
  StagingPlan plan() const;
};

std::string advice_text(const Advice& advice);
nlohmann::json advice_json(const Advice& advice);
// What the plan's file says beside its objects.
nlohmann::ordered_json plan_facts(const Advice& advice);

}  // namespace stoker
