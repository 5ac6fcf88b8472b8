#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/core/error.h"

namespace stoker {

// What `stoker runs` is asked for. A value.
struct RunsArguments {
  std::string folder = "runs";
  std::string sort = "started";
  bool csv = false;
  bool json = false;
};

// `stoker runs`: prints the list of runs and sweeps. Error as list_runs() and sort_runs() have it.
ExitCode print_runs(const RunsArguments& arguments);

// What `stoker runs rm` is asked for: one of failed, keep and older. A value.
struct RemoveArguments {
  std::string folder = "runs";
  bool failed = false;          // those that failed or were killed
  std::optional<int64_t> keep;  // all but so many of the newest
  std::string older;            // those that began before so long: a Duration, "7d"
  bool yes = false;             // do not ask
};

// `stoker runs rm`: removes directories of runs, after it has named them and asked on standard
// input. Never what is running, and no sweep. A `latest` that would lead nowhere leads to the
// newest run that is left, or goes. Error(ExitCode::config) for what is no such question,
// IoError for a directory that cannot be removed.
ExitCode remove_runs(const RemoveArguments& arguments);

}  // namespace stoker
