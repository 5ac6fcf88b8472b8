#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/tune/candidates.h"
#include "app/tools/tune/search.h"
#include "app/tools/tune/tune.h"
#include "app/tools/tune/ways.h"

namespace stoker {

// What holds the chosen settings back, and why that is known. A value.
struct TuneBinding {
  // "device", "storage", "decoding", "copy" or "trainer"; "unknown" where there is no model.
  std::string stage;
  std::string why;
};

// All that a search came to. A value.
struct TuneAnswer {
  std::vector<TuneWay> ways;
  std::vector<TuneCandidate> candidates;
  TuneFound found;
  TuneMachine machine;
  TuneBinding binding;
  std::vector<std::string> advice;
  int64_t runs = 0;
  double spent_s = 0;

  const TuneTrial& chosen() const { return found.trials[found.chosen]; }
  const TuneTrial& first() const { return found.trials.front(); }
  const TuneCandidate& settings() const { return candidates[chosen().candidate]; }
  // Empty: the experiment is best as it is.
  std::vector<std::string> overrides() const;
};

// What holds a candidate back, by what it did and by the engine. inputs: of its way.
TuneBinding binding_of(const TuneTrial& trial, const TuneCandidate& candidate,
                       const std::optional<SimulationInputs>& inputs);

// What `stoker tune` prints.
std::string tune_text(const TuneArguments& arguments, const TuneAnswer& answer);
nlohmann::json tune_json(const TuneArguments& arguments, const TuneAnswer& answer);

}  // namespace stoker
