#pragma once

#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

struct CompareArguments {
  std::vector<std::string> pair;  // two directories of runs, or none, and then:
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::string metric = "images_per_s";
  std::string threshold;  // "5%" or "0.05"; empty: none
  bool json = false;
};

// `stoker compare`: prints what differs between two runs, or two sets of runs, and whether it is
// noise. ExitCode::threshold where B is worse by more than the threshold, or cannot be compared.
ExitCode compare_runs(CompareArguments arguments);

}  // namespace stoker
