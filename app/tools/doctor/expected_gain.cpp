#include "app/tools/doctor/expected_gain.h"

#include <algorithm>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<ExpectedGain>& Registry<ExpectedGain>::global() {
  static Registry registry;
  return registry;
}

std::optional<double> expected_gain(const std::string& run,
                                    const std::vector<std::string>& overrides) {
  // The engine knows loaders; for others it is not worth loading.
  const auto is_loader = [](const std::string& word) { return word.starts_with("loader."); };
  if (overrides.empty() || !std::ranges::all_of(overrides, is_loader)) return std::nullopt;
  try {
    return default_component<ExpectedGain>("simulated").create({})->of(run, overrides);
  } catch (const Error&) {  // a run that says too little has its verdict all the same
    return std::nullopt;
  }
}

}  // namespace stoker
