#include "app/base/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stoker {
namespace {

using Column = ResultTable::Column;

std::string figure(const Column& column, double value) {
  return fmt::format("{:.{}f}", column.scale * value, column.digits);
}

std::string range(const Column& column, const Spread& spread) {
  if (!column.range) return figure(column, spread.median);
  const std::string most = figure(column, spread.max);
  return fmt::format("{} ({:>{}} {})", figure(column, spread.median), figure(column, spread.min),
                     most.size(), most);
}

struct Word {
  const Column& column;
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return figure(column, value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Spread& value) const { return range(column, value); }
};

struct Put {
  nlohmann::json& json;
  void operator()(std::monostate) const {}
  template <class T>
  void operator()(const T& value) const {
    json = value;
  }
};

}  // namespace

ResultTable::Cell ResultTable::optional(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell();
}

bool ResultTable::is_text(size_t column) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    return std::holds_alternative<std::string>(row.cells[column]);
  });
}

std::vector<std::string> ResultTable::titles() const {
  std::vector<std::string> result;
  for (const Column& column : columns_) result.push_back(column.title);
  return result;
}

std::vector<std::string> ResultTable::words(const Row& row) const {
  std::vector<std::string> result;
  for (size_t i = 0; i < columns_.size(); ++i) {
    result.push_back(std::visit(Word{columns_[i]}, row.cells[i]));
  }
  return result;
}

std::string ResultTable::text(size_t indent) const {
  std::vector<std::vector<std::string>> lines{titles()};
  for (const Row& row : rows_) lines.push_back(words(row));
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line(indent, ' ');
    for (size_t column = 0; column < columns_.size(); ++column) {
      if (columns_[column].title.empty()) continue;
      size_t width = 0;
      for (const auto& other : lines) width = std::max(width, other[column].size());
      line += is_text(column) ? fmt::format("{:<{}}  ", lines[i][column], width)
                              : fmt::format("{:>{}}  ", lines[i][column], width);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (i == 0) continue;
    for (const std::string& note : rows_[i - 1].notes) {
      text += fmt::format("{:{}}{}\n", "", indent + 4, note);
    }
  }
  return text;
}

nlohmann::json ResultTable::json() const {
  nlohmann::json result = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::json object = nlohmann::json::object();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool there = !std::holds_alternative<std::monostate>(row.cells[i]);
      if (there && !columns_[i].key.empty()) std::visit(Put{object[columns_[i].key]}, row.cells[i]);
    }
    result.push_back(std::move(object));
  }
  return result;
}

}  // namespace stoker
