#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/report/differences.h"

namespace stoker {

// running: its process is at work. killed: it has ended without a summary. incomplete: a sweep of
// which some runs are still to be done.
enum class RunState { running, completed, stopped, failed, killed, incomplete };
// "running": the word that is printed. Static text; any thread.
const char* to_string(RunState state);

// A run or a sweep as its files show it. A value.
struct ListedRun {        // NOLINT(bugprone-exception-escape): nlohmann::json's move
  std::string name;       // the path from the folder that was listed
  std::string directory;  // the path as given
  bool sweep = false;
  RunState state = RunState::killed;
  // Of a run its summary's word, of a sweep how many of its findings are within.
  std::string verdict;
  std::optional<double> started_unix_s;
  nlohmann::json summary;                // null: none yet
  std::map<std::string, double> window;  // of a running run the last line of its steps.csv
  // Of a sweep: how many runs there are and should be, and the least and largest images/s.
  size_t done = 0, planned = 0;
  std::optional<std::pair<double, double>> range;
  // The address of the status page of a running run, "127.0.0.1:9464". Empty: there is none.
  std::string live;
  // The resolved configuration; of a sweep its axes.
  Leaves config;
  // What sets it apart from the others of its list: the options whose value no more than half of
  // them share, and that value. The types of components first.
  std::vector<std::pair<std::string, std::string>> differs;

  // A figure by its path in the summary, of a running run in its last window. Absent: not measured.
  std::optional<double> figure(const std::string& path) const;
};

// The figures that every list shows, by their paths in summary.json.
const std::vector<std::string>& listed_figures();

// All runs and sweeps below `folder`, the oldest first; one that is itself a run is the only one of
// its list. Runs of a sweep are part of the sweep, and are listed where `folder` is the sweep.
// Links are not followed. What no program of ours wrote, or is half written, is left out or has no
// figures. Reads files; any thread. Error(ExitCode::environment) where there is no such folder.
std::vector<ListedRun> list_runs(const std::string& folder);

// Sorts by "name", "state", "verdict", "started" (the oldest first), or a figure, the largest
// first. What has no such figure comes last. Error(ExitCode::config) where no run has the figure.
void sort_runs(std::vector<ListedRun>& runs, const std::string& by);

// {"schema_version": 1, "folder", "runs": [...]}, the absent values left out. Pure; any thread.
nlohmann::json runs_json(const std::string& folder, const std::vector<ListedRun>& runs);
// A table for a terminal, and a table with a column for each option that differs (RFC 4180).
std::string runs_text(const std::vector<ListedRun>& runs);
std::string runs_csv(const std::vector<ListedRun>& runs);

}  // namespace stoker
