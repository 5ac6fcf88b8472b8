#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace stoker {

// Reads or writes of a tier. A value.
struct TraceTransfers {
  int64_t count = 0;
  uint64_t bytes = 0;
  double busy_s = 0;  // time with at least one under way
};

// A run's figures from the single events of its trace.json, without a look at its other files.
struct TraceFigures {
  // Whether it says that it holds everything: closed by its writer, the whole run long, no event
  // dropped or left out. Otherwise `incomplete` says what is missing.
  bool complete = false;
  std::string incomplete;
  int64_t events = 0;
  int64_t bad_lines = 0;  // half ones, of a process that was killed

  int64_t steps = 0;
  double wall_s = 0;  // of the loop: first segment to last
  std::map<std::string, double> segments_s;
  double io_share = 0;
  double device_observed_s = 0;
  double device_busy_s = 0;
  int64_t samples_read = 0;
  uint64_t bytes_read = 0;
  int64_t drains = 0;
  struct Tier {
    TraceTransfers reads, writes;
  };
  std::map<std::string, Tier> tiers;
};

// Reads trace.json line by line, as our sink writes it. Error(ExitCode::environment) where there is
// no such file, or it is no trace of ours.
TraceFigures read_trace_figures(const std::string& path);

// The figures by the names that they have in summary.json; those that are absent are left out.
std::map<std::string, double> by_name(const TraceFigures& figures);
// The same ones out of a summary.json. What it lacks is left out.
std::map<std::string, double> by_name(const nlohmann::json& summary);

}  // namespace stoker
