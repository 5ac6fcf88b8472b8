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

}  // namespace

using Cell = ResultTable::Cell;

Cell::Cell(bool value) : kind_(Kind::yes_or_no), integer_(value ? 1 : 0) {}
Cell::Cell(int64_t value) : kind_(Kind::integer), integer_(value) {}
Cell::Cell(double value) : kind_(Kind::number), number_(value) {}
Cell::Cell(std::string value) : kind_(Kind::word), word_(std::move(value)) {}
Cell::Cell(const char* value) : kind_(Kind::word), word_(value) {}
Cell::Cell(const Spread& value) : kind_(Kind::spread), spread_(value) {}
Cell::Cell(const std::optional<double>& value)
    : kind_(value ? Kind::number : Kind::absent), number_(value.value_or(0)) {}

std::string Cell::text(const Column& column) const {
  switch (kind_) {
    case Kind::absent:
      return "-";
    case Kind::yes_or_no:
      return integer_ != 0 ? "yes" : "no";
    case Kind::integer:
      return fmt::format("{}", integer_);
    case Kind::number:
      return figure(column, number_);
    case Kind::word:
      return word_;
    case Kind::spread:
      return range(column, spread_);
  }
  return {};
}

nlohmann::json Cell::json() const {
  switch (kind_) {
    case Kind::absent:
      return nullptr;
    case Kind::yes_or_no:
      return integer_ != 0;
    case Kind::integer:
      return integer_;
    case Kind::number:
      return number_;
    case Kind::word:
      return word_;
    case Kind::spread:
      return spread_;
  }
  return {};
}

bool ResultTable::holds_words(size_t column) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const Row& row) { return row.cells[column].kind_ == Cell::Kind::word; });
}

// Titles, then rows.
std::vector<std::vector<std::string>> ResultTable::lines() const {
  std::vector<std::vector<std::string>> result(1);
  for (const Column& column : columns_) result.front().push_back(column.title);
  for (const Row& row : rows_) {
    std::vector<std::string>& line = result.emplace_back();
    for (size_t i = 0; i < columns_.size(); ++i) line.push_back(row.cells[i].text(columns_[i]));
  }
  return result;
}

std::string ResultTable::text(size_t indent) const {
  const std::vector<std::vector<std::string>> lines = this->lines();
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line(indent, ' ');
    for (size_t column = 0; column < columns_.size(); ++column) {
      if (columns_[column].title.empty()) continue;
      size_t width = 0;
      for (const auto& other : lines) width = std::max(width, other[column].size());
      line += holds_words(column) ? fmt::format("{:<{}}  ", lines[i][column], width)
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
      const std::string& key = columns_[i].key;
      if (row.cells[i].kind_ != Cell::Kind::absent && !key.empty()) {
        object[key] = row.cells[i].json();
      }
    }
    result.push_back(std::move(object));
  }
  return result;
}

}  // namespace stoker
