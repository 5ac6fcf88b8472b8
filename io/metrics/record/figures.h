#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/metrics/record/run_record.h"

namespace stoker {

// `none` is for numbers, and `per_s` for rates, of whatever the name says. Most names end with
// their unit: _s, _unix_s, _bytes, _share, _joules, _mb_per_s.
enum class Unit { none, seconds, unix_time, bytes, share, joules, mb_per_s, per_s };
// "s", "share, 0 to 1": for people. Empty: none.
const char* to_string(Unit unit);

// A counter only grows. A quotient divides two sums, so it can be made for any piece of time: for
// the run, or in steps.csv and timeline.csv for the time since the row before.
enum class FigureKind { counter, gauge, quotient, histogram };
// "counter": as in docs/figures.md.
const char* to_string(FigureKind kind);

// A distribution. A value.
struct Histogram {
  std::vector<double> bounds;   // inclusive upper ones
  std::vector<int64_t> counts;  // not cumulative; the last has no bound
  double sum = 0;
  // Of the values themselves; absent where they are not known.
  std::optional<double> least = {};
  std::optional<double> most = {};
  std::optional<double> p50 = {};
  std::optional<double> p99 = {};

  // The number of values in all buckets.
  int64_t count() const;
};

// One value of a figure: a number or, of histograms, a distribution; neither: not measured.
struct FigureValue {
  std::vector<std::string> labels;  // in the order of the name's braces
  std::optional<double> value;      // absent: not measured
  std::optional<Histogram> histogram;
};
using FigureValues = std::vector<FigureValue>;

// A number that is known of a run, and all that there is to say about it. One name everywhere: its
// place in summary.json and /api/status ("device.idle_s.{cause}", in braces its labels), the column
// of steps.csv and timeline.csv, the tag in TensorBoard, and by prometheus_name() in /metrics.
//
//   {"device.idle_s.{cause}", counter, Unit::seconds, "Device time between steps without work.",
//    "As device.timing_method says.", each(idle_cause_name, idle)}
//
// is {"device": {"idle_s": {"data": 1.5, "h2d": 0, ...}}} in summary.json, device.idle_s.data and
// its neighbours as columns, and stoker_device_idle_seconds_total{cause="data"} in /metrics.
struct Figure {
  // Texts are literals: valid for ever.
  const char* name;
  FigureKind kind;
  Unit unit;
  const char* definition;
  const char* measured;  // how
  // Takes all values with their labels from a record; empty where the record lacks the subject. A
  // pure function.
  std::function<FigureValues(const RunRecord&)> read;
  bool in_summary = true;  // false: since boot or the process's start, for those who scrape
  // Of a quotient that is in /metrics, too: its name there; null: none.
  const char* scraped_as = nullptr;
};

// The table of all figures, in the order in which they are shown. Any thread.
const std::vector<Figure>& figures();
// The table for people: docs/figures.md.
std::string figures_page();
// The figures with these names, in that order. A name that no figure has is a bug:
// std::logic_error.
std::vector<const Figure*> select_figures(std::initializer_list<std::string_view> names);

// The figure of a column such as "segments_s.data_wait". Null: no figure has such a column.
const Figure* find_figure(std::string_view column);

// {"device", "idle_s", "data"}: the name with labels in the place of braces.
std::vector<std::string> figure_place(const Figure& figure, const std::vector<std::string>& labels);
// {"cause"}: what stands in the name's braces.
std::vector<std::string> label_names(const Figure& figure);

// "stoker_device_idle_seconds_total": without braces, with the unit written out, and `_total` for
// counters. Figures of `process.` have no prefix: they are those of every client library. Of
// quotients it is `scraped_as`; empty: none, as Prometheus divides itself.
std::string prometheus_name(const Figure& figure);

// A row of steps.csv or timeline.csv: quotients are read from `window`, all others from `now`.
// Names are places joined by dots.
struct RowField {
  std::string name;
  Unit unit;
  std::optional<double> value;
};
// Values that were not measured are in the row, without a number, so that rows of a run have the
// same fields.
std::vector<RowField> figure_row(std::span<const Figure* const> chosen, const RunRecord& now,
                                 const RunRecord& window);

}  // namespace stoker
