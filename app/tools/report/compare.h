#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/tools/report/bootstrap.h"
#include "app/tools/report/differences.h"
#include "app/tools/report/run_files.h"
#include "io/core/error.h"

namespace stoker {

// A figure of steps.csv that runs are compared by: one of a window of time (a quotient). A value.
struct CompareMetric {
  // The name of the column.
  const char* name;
  bool relative;  // differences are ratios - 1; else shares are subtracted
  bool more_is_better;
  // A smaller difference is none, however sure it is.
  double least() const { return relative ? 0.005 : 0.001; }
};
// All of them, in the order in which they are printed.
const std::vector<CompareMetric>& compare_metrics();
// Error(ExitCode::config), which lists all names, if no metric has this name.
const CompareMetric& compare_metric(const std::string& name);

// `same`: no difference was shown at the 5 % level. That does not prove that they are equal.
enum class CompareVerdict { same, different, not_comparable };
// "not comparable": the word that is printed.
const char* to_string(CompareVerdict verdict);

// One figure of both sides. A value.
struct MetricComparison {
  CompareMetric metric;
  double a = 0;  // all windows together, or the median of runs
  double b = 0;
  Interval difference;  // how far b is from a
  // How many runs, or windows, the figure is made of.
  size_t values_a = 0;
  size_t values_b = 0;
  double autocorrelation = 0;  // between neighbouring windows, the larger of both sides
  CompareVerdict verdict = CompareVerdict::same;
};

// The whole result. A value.
struct Comparison {
  std::vector<std::string> a;  // directories
  std::vector<std::string> b;
  CompareVerdict verdict = CompareVerdict::same;  // about the metric that was asked for
  std::vector<std::string> reasons;               // why it is not comparable
  std::vector<std::string> notes;                 // a note for the reader of the finding
  bool by_runs = false;                           // a run is one value; else each of its windows is
  std::vector<MetricComparison> metrics;  // those that both sides have; the one asked for is first
  std::vector<Difference> config;         // one value per side: all of its runs', joined
  std::vector<Difference> environment;
};

// Runs against runs, neither empty. Windows are the rows of steps.csv, without the first of each
// run (filling the pipeline, warming up); a figure is that of its windows together: sums are
// divided, so that a rare stall counts for what it costs. With many ranks a window is that of all
// of them: rates are summed, shares averaged. With three runs or more on both sides
// each run counts once. Windows of one run resemble each other and are drawn in blocks where there
// are fewer. Reads the runs' steps.csv, row by row (courses_of()).
Comparison compare(const std::vector<RunFiles>& a, const std::vector<RunFiles>& b,
                   const CompareMetric& metric);

// Is b worse than a by more than `threshold` (0.05: 5 %, of a share: 5 points), with confidence, or
// can that not be told as they are not comparable?
bool misses(const Comparison& comparison, double threshold);

// As JSON with schema_version 1. Absent values are null.
nlohmann::json to_json(const Comparison& comparison);
// As text, some lines.
std::string to_text(const Comparison& comparison);

// What `stoker compare` is asked for. A value.
struct CompareArguments {
  std::vector<std::string> runs;  // directories of two runs or more, or none, and then:
  std::vector<std::string> a;
  std::vector<std::string> b;
  // One of compare_metrics().
  std::string metric = "images_per_s";
  std::string threshold;  // a Share, "5%" or "0.05"; empty: none
  bool json = false;
};

// Each of these runs against the first of them, in their order; at least two.
struct ManyComparisons {
  std::vector<Comparison> against_first;
  std::vector<Difference> config;  // where not all of them agree, a value for each
};
ManyComparisons compare_many(const std::vector<RunFiles>& runs, const CompareMetric& metric);
// {"schema_version": 1, "runs", "config", "comparisons": [as of two runs]}
nlohmann::json to_json(const ManyComparisons& many);
// A row for each run: what sets it apart, its figures, and whether it differs from the first.
std::string to_text(const ManyComparisons& many);

// `stoker compare`: prints what differs between two runs, many runs and the first of them, or two
// sets of runs, and whether it is noise. ExitCode::threshold where B, or one of many, is worse by
// more than the threshold, or cannot be compared.
ExitCode compare_runs(CompareArguments arguments);

}  // namespace stoker
