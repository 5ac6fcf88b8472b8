#include "app/analysis/thinned.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/metrics/record/figures.h"

namespace stoker {
namespace {

// Of quotients the mean; of what grows or stands, the last.
bool averaged(const std::string& column) {
  const Figure* figure = find_figure(column);
  return figure == nullptr || figure->kind == FigureKind::quotient;
}

nlohmann::json merged(const Table::Column& column, size_t from, size_t to, bool average) {
  double sum = 0;
  double last = 0;
  int count = 0;
  for (size_t row = from; row < to; ++row) {
    if (!column[row]) continue;
    last = *column[row];
    sum += last;
    ++count;
  }
  if (count == 0) return nullptr;
  return average ? sum / count : last;
}

}  // namespace

nlohmann::json thinned(const Table& table, size_t most) {
  const size_t step = (table.rows() + most - 1) / most;
  nlohmann::json result = nlohmann::json::object();
  for (const std::string& name : table.names()) {
    const Table::Column& column = table.column(name);
    nlohmann::json values = nlohmann::json::array();
    for (size_t row = 0; row < column.size(); row += step) {
      const size_t end = std::min(column.size(), row + step);
      values.push_back(merged(column, row, end, averaged(name)));
    }
    result[name] = std::move(values);
  }
  return result;
}

}  // namespace stoker
