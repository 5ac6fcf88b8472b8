#include "app/base/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using Column = ResultTable::Column;

// What a cell shows.
struct CellText {
  const Column& column;

  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    return fmt::format("{:.{}f}", column.scale * value, column.digits);
  }
  std::string operator()(const std::string& value) const { return printable(value); }
  std::string operator()(const Spread& value) const {
    std::string median = (*this)(value.median);
    if (!column.range) return median;
    const std::string most = (*this)(value.max);
    return fmt::format("{} ({:>{}} {})", median, (*this)(value.min), most.size(), most);
  }
};

}  // namespace

using Cell = ResultTable::Cell;

Cell::Cell(const std::optional<double>& value) {
  if (value) value_ = *value;
}

std::string Cell::text(const Column& column) const { return std::visit(CellText{column}, value_); }

nlohmann::json Cell::json() const {
  return std::visit(
      []<class T>(const T& value) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nlohmann::json();
        } else {
          return nlohmann::json(value);
        }
      },
      value_);
}

bool ResultTable::holds_words(size_t column) const {
  return std::ranges::any_of(rows_, [&](const Row& row) {
    return std::holds_alternative<std::string>(row.cells[column].value_);
  });
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
      text += fmt::format("{:{}}{}\n", "", indent + 4, printable(note));
    }
  }
  return text;
}

void ResultTable::put(const Column& column, const Cell& value) {
  if (rows_.empty()) rows_.emplace_back();
  columns_.push_back(column);
  rows_.front().cells.push_back(value);
}

std::string ResultTable::record_text(size_t indent) const {
  ResultTable figures({{"", "figure"}, {"", "value"}});
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Cell& cell = rows_.front().cells[i];
    if (cell.absent() || columns_[i].title.empty()) continue;
    figures.add({columns_[i].title, cell.text(columns_[i])});
  }
  const std::string text = figures.text(indent);
  return text.substr(text.find('\n') + 1);
}

nlohmann::json ResultTable::record_json() const { return json().front(); }

nlohmann::json ResultTable::json() const {
  nlohmann::json result = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::json object = nlohmann::json::object();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& key = columns_[i].key;
      if (!row.cells[i].absent() && !key.empty()) {
        object[nlohmann::json::json_pointer("/" + key)] = row.cells[i].json();
      }
    }
    result.push_back(std::move(object));
  }
  return result;
}

ExitCode print_result(bool as_json, const nlohmann::json& json, const std::string& text, int indent,
                      const std::string& output) {
  fmt::print(is_standard_output(output) ? stderr : stdout, "{}",
             as_json ? json_text(json, indent) + "\n" : text);
  return ExitCode::ok;
}

void to_json(nlohmann::json& json, const Spread& spread) {
  json = {{"min", spread.min}, {"median", spread.median}, {"p99", spread.p99}, {"max", spread.max}};
}

std::string rounds_differ(const Spread& rounds, double most) {
  const double apart = rounds.min > 0 ? rounds.max / rounds.min - 1 : 0;
  if (apart <= most) return "";
  return fmt::format(
      "its rounds differ by {:.0f} %, so other work was on the device or the machine: measure "
      "again when it is quiet",
      100 * apart);
}

}  // namespace stoker
