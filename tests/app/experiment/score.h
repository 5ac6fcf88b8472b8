#pragma once

#include <fmt/format.h>

#include "tests/app/experiment/mutants.h"

namespace stoker {

// What became of the mutants of one configuration.
struct Score {
  int64_t mutants = 0;  // that are refused, or have to be
  int64_t exit = 0;
  int64_t place = 0, places = 0;
  int64_t hint = 0, hints = 0;
  int64_t accepted = 0;  // valid, and taken so
  std::vector<std::string> misses;

  void add(const Mutant& mutant, const Outcome& outcome) {
    const bool refused = outcome.code != 0;
    if (!refused && mutant.expected != Expected::wrong) {
      ++accepted;
      return;
    }
    ++mutants;
    const bool good = outcome.code == 2 && mutant.expected != Expected::right;
    exit += good;
    if (!good) return miss("exit", mutant, outcome);
    if (!mutant.places.empty()) {
      ++places;
      const bool right = std::ranges::any_of(mutant.places, [&](const std::string& at) {
        return outcome.error.starts_with("error: " + at + ": ");
      });
      place += right;
      if (!right) miss("place", mutant, outcome);
    }
    if (mutant.hints.empty()) return;
    ++hints;
    const bool right = std::ranges::any_of(mutant.hints, [&](const std::string& word) {
      const auto said = [&](const std::string& text) {
        return outcome.error.find("did you mean '" + text + "'") != std::string::npos;
      };
      return said(word) || said("--" + word);
    });
    hint += right;
    if (!right) miss("hint", mutant, outcome);
  }

  void miss(const char* what, const Mutant& mutant, const Outcome& outcome) {
    misses.push_back(fmt::format("{}: {}: exit code {}: {}", what, mutant.what, outcome.code,
                                 outcome.error.substr(0, outcome.error.find('\n'))));
  }
};

}  // namespace stoker
