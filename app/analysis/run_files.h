#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/analysis/table.h"

namespace stoker {

// What a run left in its directory, as read afterwards. A value.
struct RunFiles {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  std::string directory;
  nlohmann::json summary;      // summary.json
  nlohmann::json environment;  // environment.json
  std::string config;          // config.yaml, the resolved configuration
  Table steps;                 // steps.csv; empty without that sink
  Table timeline;              // timeline.csv; likewise

  // Of a file in the directory, whether it is there or not.
  std::string path(const std::string& file) const { return directory + "/" + file; }
};

// The JSON of a file that a run or a sweep left. Error(ExitCode::environment), which names the
// file, where it is missing or no JSON.
nlohmann::json read_json(const std::string& path);

// Error(ExitCode::environment) where `directory` is no run's that has ended: it names what is
// missing.
RunFiles read_run(const std::string& directory);

// The same for a run that was killed or is under way: its summary is null. Still an Error where
// `directory` is no run's.
RunFiles read_run_so_far(const std::string& directory);

}  // namespace stoker
