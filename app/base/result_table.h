#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/base/statistics.h"

namespace stoker {

// Rows of named figures, said once: aligned text for people, JSON for programs. A value; one thread
// at a time.
class ResultTable {
 public:
  struct Column {
    std::string key;    // in JSON; empty: not there
    std::string title;  // in text, with the unit; empty: not there
    int digits = 0;     // of a figure in text, after the point
    double scale = 1;   // text = scale * JSON, where they have different units
    bool range = true;  // in text a Spread is "median (min  max)"; false: the median alone
  };
  // What stands in a row. Converts from what it can hold, so that a row reads as a list of values.
  class Cell {
   public:
    Cell() = default;  // absent: "-" in text and left out of JSON
    // NOLINTBEGIN(google-explicit-constructor)
    Cell(bool value);
    Cell(int64_t value);
    Cell(double value);
    Cell(std::string value);
    Cell(const char* value);
    Cell(const Spread& value);
    Cell(const std::optional<double>& value);
    // NOLINTEND(google-explicit-constructor)

   private:
    friend class ResultTable;
    enum class Kind { absent, yes_or_no, integer, number, word, spread };
    std::string text(const Column& column) const;
    nlohmann::json json() const;

    Kind kind_ = Kind::absent;
    int64_t integer_ = 0;  // or 0 and 1
    double number_ = 0;
    std::string word_;
    Spread spread_;
  };

  explicit ResultTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many as there are columns, in their order.
  void add(std::vector<Cell> row) { rows_.push_back({std::move(row), {}}); }
  // A line of text below the last row.
  void note(const std::string& line) { rows_.back().notes.push_back(line); }

  // Columns as wide as they have to be: words to the left, figures to the right; each line, titles
  // first, after `indent` spaces.
  std::string text(size_t indent = 0) const;
  // An array with an object for each row.
  nlohmann::json json() const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::vector<std::string> notes;
  };
  std::vector<std::vector<std::string>> lines() const;
  bool holds_words(size_t column) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace stoker
