#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/report/bootstrap.h"

// Runs of this program that only last some seconds, for what has to be tried: the trials of `stoker
// doctor --verify`, and those of `stoker tune`.

namespace stoker {

// A short run. A value.
struct ShortRunOptions {
  std::string config;
  // How it differs from the file; also how long it is, where that is a number of steps.
  std::vector<std::string> overrides;
  // Its directory is made in this one.
  std::string directory;
  std::string name;
  // Its standard error is appended to this file.
  std::string log;
  // The process is asked to stop after so many seconds. Absent: it ends by itself.
  std::optional<double> seconds;
  // Asked ten times a second: once true, the run is to end now.
  std::function<bool()> stop_requested;
};

// What came of it. A value.
struct ShortRun {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  nlohmann::json summary;
  // The run's own directory.
  std::string directory;
  // Of the whole process, with its beginning and its end.
  double took_s = 0;
};

// Lets a child process train. Error where it fails, which names the log; a run that was asked to
// stop has not failed; where its training had not begun, summary and directory are empty.
// Error(ExitCode::sigint) where stop_requested said so.
ShortRun short_run(const ShortRunOptions& options);

// Images/s of the whole run, until the last set is where it belongs.
double whole_rate(const nlohmann::json& summary);

// What of a run's course is its beginning. A value.
struct SteadyFrom {
  // Batches and steps that can be finished before anybody waits for them: what queues hold.
  int64_t queued = 0;
  // The first epochs fill a cache, and say nothing of the later ones.
  int64_t epoch = 0;
};

// Images/s of a run once its queues neither fill nor empty, in pieces of its course: from the first
// step that found its queue empty, or from where no more than `queued` steps can have been made
// ahead. Needs steps.csv of every step, or of every few. Empty: the run was too short. No piece is
// above what the device can take, where the run says that.
std::vector<Piece> steady_pieces(const std::string& directory, const nlohmann::json& summary,
                                 const SteadyFrom& from);

// Images/s that the run's device takes, by how long it was busy. 0: the run does not say.
double device_limit(const nlohmann::json& summary);

// The level of these pieces with its interval. There must be one.
Interval level_of(const std::vector<Piece>& pieces);

}  // namespace stoker
