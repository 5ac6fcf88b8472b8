#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tools/report/table.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {

// What a run left in its directory, as read afterwards. A value.
struct RunFiles {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  std::string directory;
  nlohmann::json summary;      // summary.json
  nlohmann::json environment;  // environment.json
  std::string config;          // config.yaml, the resolved configuration
  Table steps;                 // steps.csv; empty without that sink, or where it was not read
  Table timeline;              // timeline.csv; likewise

  // The path of a file in the directory, whether the file is there or not.
  std::string path(const std::string& file) const { return directory + "/" + file; }
};

// The text of a file that a run or a sweep left. Empty: it is not there. Error(ExitCode::data)
// where it is far larger than one of ours; IoError.
std::optional<std::string> read_own_file(const std::string& path);
// The JSON of a file that a run or a sweep left. Error, which names the file: ExitCode::environment
// where it is missing, ExitCode::data where it is no JSON, or nested too deep to be one of ours.
nlohmann::json read_json(const std::string& path);
// The same of the file's text.
nlohmann::json parse_run_json(std::string_view text, const std::string& path);

[[noreturn]] void refuse_files_of(const std::vector<std::string>& directories, const char* why);

// The word of a run's verdict in its summary.json ("input_bound"). Empty: it has none.
std::string verdict_word(const nlohmann::json& summary);

// Whether `directory` is that of a run, one that has ended or not.
bool is_run(const std::string& directory);
// Whether `directory` has the results of a sweep.
bool is_sweep(const std::string& directory);
// `path` where it is that of a run, else the newest run right below it; ended: of those that have a
// summary.json. What holds no run is given back as it is, for the reader's own message.
std::string newest_run(const std::string& path, bool ended);

// Error(ExitCode::environment), which names what is missing, if `directory` is not that of a run
// that has ended.
RunFiles read_run(const std::string& directory);

// The same without the tables, which of a long run are large.
RunFiles read_run_outcome(const std::string& directory);

// What read_run() reads of a run that was killed or is under way: its summary is null. Still an
// Error if `directory` is not that of a run.
RunFiles read_run_so_far(const std::string& directory);

// The run's record as the rules of a verdict want it: its summary, with what one of an older
// release lacks taken from the other files.
nlohmann::json record_of(const RunFiles& run);
// What held the run up. Error(ExitCode::config) where its configuration is no YAML.
Verdict verdict_of(const RunFiles& run);

// f(), which uses what these directories hold. Error(ExitCode::data), which names them, where a
// member of a file is of another type than this program writes.
template <class F>
auto using_files_of(const std::vector<std::string>& directories, F&& f) {
  try {
    return f();
  } catch (const nlohmann::json::exception& error) {
    refuse_files_of(directories, error.what());
  }
}

}  // namespace stoker
