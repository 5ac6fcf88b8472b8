#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tools/runs/shared_config.h"
#include "io/core/error.h"

namespace stoker {

// running: its process is at work. killed: it has ended without a summary. incomplete: a sweep of
// which some runs are still to be done.
enum class RunState { running, completed, stopped, failed, killed, incomplete };
// "running": the word that is printed. Static text; any thread.
const char* to_string(RunState state);

// A run or a sweep as its files show it. A value, which shares its configuration with others.
struct ListedRun {
  std::string name;       // the path from the folder that was listed
  std::string directory;  // the path as given
  bool sweep = false;
  bool summarised = false;  // it has a summary.json
  RunState state = RunState::killed;
  std::string status;  // the word of its summary
  // Of a run its summary's word, of a sweep how many of its findings are within.
  std::string verdict;
  std::optional<double> started_unix_s;
  // By their paths in summary.json: those that every list shows, and the one that was asked for. Of
  // a running run the last line of its steps.csv.
  std::map<std::string, double> figures;
  // Of a sweep: how many runs there are and should be, and the least and largest images/s.
  size_t done = 0, planned = 0;
  std::optional<std::pair<double, double>> range;
  // The address of the status page of a running run, "127.0.0.1:9464". Empty: there is none.
  std::string live;
  // The resolved configuration; of a sweep its axes.
  SharedLeaves config;
  // What sets it apart from the others of its list: the options whose value no more than half of
  // them share, and that value. The types of components first.
  std::vector<std::pair<std::string, std::string>> differs;

  // Absent: not measured.
  std::optional<double> figure(const std::string& path) const;
  bool operator==(const ListedRun&) const = default;
};

// The figures that every list shows, by their paths in summary.json.
const std::vector<std::string>& listed_figures();

// All runs and sweeps below `folder`, the oldest first; one that is itself a run is the only one of
// its list. Runs of a sweep are part of the sweep, and are listed where `folder` is the sweep.
// Links are not followed. What no program of ours wrote, or is half written, is left out or has no
// figures.
//
// It keeps what it has read, and reads a file again when its time, size or inode is another; so a
// list in which nothing changed costs some system calls for each run. Any thread; one scan at a
// time.
class RunIndex {
 public:
  using List = std::shared_ptr<const std::vector<ListedRun>>;
  // figure: a further one that is wanted; empty: none.
  explicit RunIndex(std::string folder, std::string figure = {});
  ~RunIndex();
  RunIndex(const RunIndex&) = delete;
  RunIndex& operator=(const RunIndex&) = delete;

  const std::string& folder() const { return folder_; }
  // As it is now: the very list of the call before where nothing has changed.
  // Error(ExitCode::environment) where there is no such folder.
  List list();
  // How many files were read and parsed so far.
  size_t files_read() const;

 private:
  struct Cache;
  const std::string folder_;
  const std::unique_ptr<Cache> cache_;
};

// The same in one call.
std::vector<ListedRun> list_runs(const std::string& folder, const std::string& figure = {});

// Sorts by "name", "state", "verdict", "started" (the oldest first), or a figure, the largest
// first. What has no such figure comes last. Error(ExitCode::config) where no run has the figure.
void sort_runs(std::vector<ListedRun>& runs, const std::string& by);

// {"schema_version": 1, "folder", "runs": [...]}, the absent values left out. Pure; any thread.
nlohmann::json runs_json(const std::string& folder, const std::vector<ListedRun>& runs);
// A table for a terminal, and a table with a column for each option that differs (RFC 4180).
std::string runs_text(const std::vector<ListedRun>& runs);
std::string runs_csv(const std::vector<ListedRun>& runs);

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
