#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tools/sweep/plan.h"

namespace stoker {

// Figures of a run, by name. What was not measured is absent.
using Figures = std::map<std::string, double>;

// Every number in the result of a run, by its place: "segments_s.compute". In addition:
//   - an object with a "median" is a figure itself: "images_per_s" = "images_per_s.median";
//   - of lists only "results" and "evaluations" are taken: an element is named by its name, type or
//     threads, else by its place, and the only element of "results" has no name of its own, so that
//     "results.0.images_per_s" is "images_per_s";
// "conditions" are not figures. `names`: further ones, as SweepOptions::figures; a path that a run
// does not have gives no figure.
Figures flatten(const nlohmann::json& output, const std::map<std::string, std::string>& names);

// A figure for people, with its unit where the name tells it: "1,234 images/s", "I/O share 12 %".
std::string figure_text(const std::string& name, double value);

// What came of one run, well or not. A value. A run that failed has no figures.
struct SweepRow {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  Coordinates cell;
  int64_t repeat = 0;
  std::string hash;  // that of the cell when it was run
  int exit_code = 0;
  std::string error;      // last line of its log; empty: it went well
  std::string directory;  // the run's, relative to the sweep's; empty: it left no directory
  double seconds = 0;
  Figures figures;
  nlohmann::json conditions;  // conditions of the figures; null: the run states no conditions

  bool ok() const { return exit_code == 0 && error.empty(); }
};

// All that a sweep knows so far. A value. `machine` is where it was begun; notes say where it was
// continued elsewhere. Rows are in the order in which the runs ended.
struct SweepResults {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  nlohmann::json machine;
  std::string started;   // UTC
  std::string finished;  // empty: not yet
  std::vector<std::string> notes;
  std::vector<SweepRow> rows;

  // Null: this run has no row yet. Valid until a row is put.
  const SweepRow* find(const Coordinates& cell, int64_t repeat) const;
  // Replaces an older row of the same run.
  void put(SweepRow row);
};

// The values of a figure in a cell, in the order of the repetitions; without the first one where
// the sweep drops it, and without failed runs.
std::vector<double> values(const SweepOptions& options, const SweepResults& results,
                           const Coordinates& cell, const std::string& figure);

// The note with each {FIGURE} in it replaced by its values in those cells: "5", or "2 to 5" from
// the least to the most of all repetitions; "an unknown number of" where no run has it. Any thread.
std::string filled_note(const std::string& note, const SweepOptions& options, const SweepPlan& plan,
                        const SweepResults& results,
                        const std::function<bool(const Coordinates&)>& of_cells);

// The figures that plots and findings are about, each once, in the order of the file; images_per_s
// and exposed_io_share if there are no plots and findings. For tables and progress lines.
std::vector<std::string> main_figures(const SweepOptions& options);

// All figures that any run has, each once: the main ones, what a reader looks for first, then all
// others by name. The order of the columns of every table.
std::vector<std::string> columns(const SweepOptions& options, const SweepResults& results);

// results.json: "schema_version" 1, with the data of the plots and the verdicts on the findings.
// `directory` is the sweep's, in which timelines for plots over time are looked for. Any thread.
nlohmann::json results_json(const SweepOptions& options, const SweepPlan& plan,
                            const SweepResults& results, const std::string& directory);

// Rows, machine and times of a results.json. Error(ExitCode::environment) if this program did not
// write it.
SweepResults read_results(const std::string& path);
// The same of the file's text; `path` is for the message. Any thread.
SweepResults parse_results(std::string_view text, const std::string& path);

// Nothing, or why the rows are not those of this plan: a cell that is gone, other settings of one,
// a repetition that it does not have. Such results must not be mixed with new ones.
std::string definition_change(const SweepOptions& options, const SweepPlan& plan,
                              const SweepResults& results);

// CSV with a header, as RFC 4180 quotes it. A row per run: axes, repeat, status, exit_code,
// seconds, and all figures (columns()); an empty field where a run does not have one.
std::string results_csv(const SweepOptions& options, const SweepResults& results);

// For people: a table of cells and main figures (median, and minimum to maximum), the findings with
// their verdicts, what failed, and the conditions. Ends with a line break. A pure function; any
// thread.
std::string results_text(const SweepOptions& options, const SweepPlan& plan,
                         const SweepResults& results);

// What the figures hold for, in a line without a break, each in its distinct values over all runs:
// "device: ...; storage: ...; page cache: ...". Empty: no run says. Any thread.
std::string conditions_text(const SweepResults& results);

// What would be run: a line for each cell and their number.
std::string plan_text(const SweepOptions& options, const SweepPlan& plan);

}  // namespace stoker
