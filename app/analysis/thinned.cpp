#include "app/analysis/thinned.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace stoker {
namespace {

enum class Merge { last, sum, mean };

Merge merge_of(const std::string& name) {
  constexpr std::array<std::string_view, 14> kLast{"t_s",
                                                   "unix_s",
                                                   "wall_s",
                                                   "step",
                                                   "epoch",
                                                   "images",
                                                   "loss",
                                                   "learning_rate",
                                                   "checkpoints_saved",
                                                   "checkpoints_failed",
                                                   "drains_left",
                                                   "durable_step",
                                                   "saving",
                                                   "draining"};
  if (std::ranges::find(kLast, name) != kLast.end()) return Merge::last;
  return name.ends_with("_s") && !name.ends_with("_per_s") ? Merge::sum : Merge::mean;
}

nlohmann::json merged(const Table::Column& column, size_t from, size_t to, Merge how) {
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
  if (how == Merge::last) return last;
  return how == Merge::sum ? sum : sum / count;
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
      values.push_back(merged(column, row, end, merge_of(name)));
    }
    result[name] = std::move(values);
  }
  return result;
}

}  // namespace stoker
