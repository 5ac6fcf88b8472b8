#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/core/config/registry.h"

namespace stoker {

// Says what a change of settings would bring to a run that was measured. The one that there is
// asks the engine of `stoker simulate`, which needs LibTorch and is in a library of its own: it is
// loaded when one is made. One thread.
class ExpectedGain {
 public:
  static constexpr const char* kKind = "expected gain";
  struct Inputs {};
  virtual ~ExpectedGain() = default;
  // The rate with these overrides over the rate without them, less 1. Empty: it has no model of
  // them. Throws Error where the run does not say enough.
  virtual std::optional<double> of(const std::string& run,
                                   const std::vector<std::string>& overrides) = 0;
};

template <>
Registry<ExpectedGain>& Registry<ExpectedGain>::global();

// The same by the engine. Empty also where the library, or a figure of the run, is missing. It
// reads the run's files only.
std::optional<double> expected_gain(const std::string& run,
                                    const std::vector<std::string>& overrides);

}  // namespace stoker
