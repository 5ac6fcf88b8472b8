#pragma once

#include <array>
#include <utility>

#include "io/metrics/record/figures.h"

namespace stoker {

// The parts of the table, and what their rows are written with. Of no use elsewhere.
std::vector<Figure> training_figures();
std::vector<Figure> device_figures();
std::vector<Figure> loader_figures();
std::vector<Figure> tier_figures();
std::vector<Figure> checkpoint_figures();
std::vector<Figure> machine_figures();

using Read = std::function<FigureValues(const RunRecord&)>;

inline std::optional<double> ratio(double part, double whole) {
  if (whole <= 0) return std::nullopt;
  return part / whole;
}

// A figure without labels. value: of a RunRecord a number, or nothing.
template <class F>
Read one(F value) {
  return [value](const RunRecord& record) {
    return FigureValues{{{}, std::optional<double>(value(record)), {}}};
  };
}

// One label, whose values are those of an enumeration. array: of a RunRecord, by enumerator.
template <class E, class F>
Read each(const char* (*name)(E), F array) {
  return [name, array](const RunRecord& record) {
    FigureValues values;
    const auto numbers = array(record);
    for (size_t i = 0; i < numbers.size(); ++i) {
      values.push_back({{name(static_cast<E>(i))}, std::optional<double>(numbers[i]), {}});
    }
    return values;
  };
}

// An array's parts of a whole.
template <size_t kSize>
std::array<std::optional<double>, kSize> shares(const std::array<double, kSize>& parts,
                                                double whole) {
  std::array<std::optional<double>, kSize> result;
  for (size_t i = 0; i < kSize; ++i) result[i] = ratio(parts[i], whole);
  return result;
}

template <const auto& kBounds>
Histogram histogram_of(const TallyTotals<kBounds>& totals) {
  return {{kBounds.begin(), kBounds.end()},
          {totals.buckets.begin(), totals.buckets.end()},
          totals.seconds()};
}

// {stat}: min, median, p99, max.
inline FigureValues spread_values(const std::optional<Spread>& spread) {
  if (!spread) return {};
  return {{{"min"}, spread->min, {}},
          {{"median"}, spread->median, {}},
          {{"p99"}, spread->p99, {}},
          {{"max"}, spread->max, {}}};
}

}  // namespace stoker
