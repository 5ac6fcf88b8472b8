#pragma once

#include <array>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "io/metrics/record/figures.h"

namespace stoker {

// The parts of the table, and the functions that its rows are written with. They are of no use
// elsewhere. Each makes its rows anew; figures() asks once.
std::vector<Figure> training_figures();
std::vector<Figure> goodput_figures();
std::vector<Figure> device_figures();
std::vector<Figure> loader_figures();
std::vector<Figure> tier_figures();
std::vector<Figure> checkpoint_figures();
std::vector<Figure> machine_figures();
std::vector<Figure> rank_figures();
std::vector<Figure> breakdown_figures();
std::vector<Figure> record_read_figures();

// How a figure is read of a record; called by any thread, also at once.
using Read = std::function<FigureValues(const RunRecord&)>;
using Value = std::optional<double>;

// Tables one after the other.
std::vector<Figure> joined(std::initializer_list<std::vector<Figure>> tables);

// part / whole; absent where the whole is nothing. A quotient of two sums of the record. A share of
// no time is absent, and not 0.
inline Value ratio(double part, double whole) {
  if (whole <= 0) return std::nullopt;
  return part / whole;
}

// The templates below take functions of a record and make a Read of them, so that a row of the
// table says only where its number lies.

// A figure without labels. `value` makes a number, or nothing, of a RunRecord.
template <class F>
Read one(F value) {
  return [value](const RunRecord& record) { return FigureValues{{{}, Value(value(record)), {}}}; };
}

// Several values with labels. `visit` gets a RunRecord and `add`, which it calls with the labels of
// each value and the value: a number, a histogram, or nothing.
template <class F>
Read several(F visit) {
  return [visit](const RunRecord& record) {
    FigureValues values;
    visit(record, [&values](std::vector<std::string> labels, const auto& value) {
      FigureValue& added = values.emplace_back(FigureValue{std::move(labels), {}, {}});
      if constexpr (std::is_convertible_v<decltype(value), std::optional<Histogram>>) {
        added.histogram = value;
      } else {
        added.value = Value(value);
      }
    });
    return values;
  };
}

// One label, whose values are those of an enumeration. `array` makes an array of values, by
// enumerator, of a RunRecord.
template <class E, class F>
Read each(const char* (*name)(E), F array) {
  return several([name, array](const RunRecord& record, const auto& add) {
    const auto numbers = array(record);
    for (size_t i = 0; i < numbers.size(); ++i) add({name(static_cast<E>(i))}, numbers[i]);
  });
}

// An array's parts of a whole.
template <size_t kSize>
std::array<Value, kSize> shares(const std::array<double, kSize>& parts, double whole) {
  std::array<Value, kSize> result;
  for (size_t i = 0; i < kSize; ++i) result[i] = ratio(parts[i], whole);
  return result;
}

// As exported: bounds in seconds that double, the sum of all durations, and quantiles of the finer
// buckets.
Histogram histogram_of(const TallyTotals& totals);

// {stat}: min, median, p99, max. `spread` takes a Spread from a RunRecord that has one.
template <class F>
Read by_stat(F spread) {
  return several([spread](const RunRecord& record, const auto& add) {
    const std::optional<Spread> of = spread(record);
    if (!of) return;
    add({"min"}, of->min);
    add({"median"}, of->median);
    add({"p99"}, of->p99);
    add({"max"}, of->max);
  });
}

}  // namespace stoker
