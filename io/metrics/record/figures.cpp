#include "io/metrics/record/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

// How a name ends, and what Prometheus calls that.
struct UnitNames {
  const char* name;
  std::string_view suffix;
  const char* prometheus;
};
constexpr std::array<UnitNames, 8> kUnits{{{"", "", ""},
                                           {"s", "_s", "_seconds"},
                                           {"Unix time in s", "_unix_s", "_timestamp_seconds"},
                                           {"bytes", "_bytes", "_bytes"},
                                           {"share, 0 to 1", "_share", "_ratio"},
                                           {"J", "_joules", "_joules"},
                                           {"MB/s (10^6 bytes)", "_mb_per_s", ""},
                                           {"1/s", "_per_s", ""}}};

const UnitNames& names_of(Unit unit) { return kUnits[static_cast<size_t>(unit)]; }

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

const char* to_string(Unit unit) { return names_of(unit).name; }

const char* to_string(FigureKind kind) {
  constexpr std::array<const char*, 4> kNames{"counter", "gauge", "quotient", "histogram"};
  return kNames[static_cast<size_t>(kind)];
}

int64_t Histogram::count() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t{});
}

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all =
      joined({training_figures(), goodput_figures(), device_figures(), loader_figures(),
              tier_figures(), checkpoint_figures(), machine_figures(), rank_figures(),
              breakdown_figures(), record_read_figures()});
  return all;
}

std::vector<Figure> joined(std::initializer_list<std::vector<Figure>> tables) {
  std::vector<Figure> all;
  for (const auto& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

Histogram histogram_of(const TallyTotals& totals) {
  Histogram histogram;
  histogram.sum = totals.seconds();
  histogram.counts.emplace_back();
  for (size_t i = 0; i < totals.buckets.size(); ++i) {
    histogram.counts.back() += totals.buckets[i];
    if (i % kBucketsPerDoubling != 0 || i >= kDurationBounds.size()) continue;
    histogram.bounds.push_back(kDurationBounds[i]);
    histogram.counts.emplace_back();
  }
  if (totals.count > 0) {
    histogram.least = 1e-9 * static_cast<double>(totals.least_ns);
    histogram.most = 1e-9 * static_cast<double>(totals.most_ns);
  }
  histogram.p50 = totals.quantile(0.5);
  histogram.p99 = totals.quantile(0.99);
  return histogram;
}

std::vector<const Figure*> select_figures(std::initializer_list<std::string_view> names) {
  std::vector<const Figure*> result;
  for (const std::string_view name : names) {
    for (const Figure& figure : figures()) {
      if (figure.name == name) result.push_back(&figure);
    }
    if (result.empty() || result.back()->name != name) {
      throw std::logic_error("no figure of the name " + std::string(name));
    }
  }
  return result;
}

const Figure* find_figure(std::string_view column) {
  const auto same = [](std::string_view part, std::string_view of) {
    return of.front() == '{' || part == of;
  };
  for (const Figure& figure : figures()) {
    if (std::ranges::equal(parts_of(column), parts_of(figure.name), same)) return &figure;
  }
  return nullptr;
}

std::vector<std::string> figure_place(const Figure& figure,
                                      const std::vector<std::string>& labels) {
  std::vector<std::string> place;
  size_t label = 0;
  for (const std::string_view part : parts_of(figure.name)) {
    place.emplace_back(part.front() == '{' ? labels.at(label++) : part);
  }
  return place;
}

std::vector<std::string> label_names(const Figure& figure) {
  std::vector<std::string> names;
  for (const std::string_view part : parts_of(figure.name)) {
    if (part.front() == '{') names.emplace_back(part.substr(1, part.size() - 2));
  }
  return names;
}

std::string prometheus_name(const Figure& figure) {
  if (figure.kind == FigureKind::quotient) return figure.scraped_as ? figure.scraped_as : "";
  std::string name;
  for (const std::string_view part : parts_of(figure.name)) {
    if (part.front() != '{') name += (name.empty() ? "" : "_") + std::string(part);
  }
  const UnitNames& unit = names_of(figure.unit);
  if (name.ends_with(unit.suffix)) name.resize(name.size() - unit.suffix.size());
  name += unit.prometheus;
  if (figure.kind == FigureKind::counter) name += "_total";
  return name.starts_with("process_") ? name : "stoker_" + name;
}

std::vector<RowField> figure_row(std::span<const Figure* const> chosen, const RunRecord& now,
                                 const RunRecord& window) {
  std::vector<RowField> row;
  for (const Figure* figure : chosen) {
    const bool quotient = figure->kind == FigureKind::quotient;
    for (const FigureValue& value : figure->read(quotient ? window : now)) {
      std::string name;
      for (const std::string& part : figure_place(*figure, value.labels)) {
        name += (name.empty() ? "" : ".") + part;
      }
      row.push_back({std::move(name), figure->unit, value.value});
    }
  }
  return row;
}

std::string figures_page() {
  std::string page =
      "# Figures\n\n"
      "Every number that is known about a run. `stoker list --figures` makes this page, and a test "
      "holds it equal to what the program says.\n\n"
      "The name is the place in `summary.json` and `/api/status`, the column of `steps.csv` and "
      "`timeline.csv`, and with slashes the tag in TensorBoard; labels stand in braces. In "
      "`/metrics` it is written out by a rule: prefix, unit, `_total` for counters.\n\n"
      "A counter only grows. A gauge says what holds now. A quotient divides two sums: over the "
      "whole run or, in a row of `steps.csv` and `timeline.csv`, over the time since the row "
      "before. `/metrics` has the sums, which a query can divide, and of the quotients only the "
      "two "
      "that everybody asks for, for the whole run so far. "
      "A figure that was not measured is absent; it is never 0.\n\n"
      "| figure | kind, unit | what it is | how it is measured | `/metrics` |\n"
      "|---|---|---|---|---|\n";
  for (const Figure& figure : figures()) {
    std::string exported = prometheus_name(figure);
    if (!exported.empty()) exported = fmt::format("`{}`", exported);
    const std::string unit = to_string(figure.unit);
    page +=
        fmt::format("| `{}`{} | {}{} | {} | {} | {} |\n", figure.name,
                    figure.in_summary ? "" : " (`/metrics` only)", to_string(figure.kind),
                    unit.empty() ? "" : ", " + unit, figure.definition, figure.measured, exported);
  }
  return page;
}

}  // namespace stoker
