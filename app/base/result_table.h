#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/core/error.h"
#include "io/metrics/spread.h"

namespace stoker {

// Writes {min, median, p99, max}. nlohmann::json finds this function by its name, so that a Spread
// can stand wherever JSON is built.
void to_json(nlohmann::json& json, const Spread& spread);

// What every benchmark says of measurements that do not agree: "its rounds differ by 121 %, so
// other work was on the device or the machine: measure again when it is quiet". Empty where the
// largest is at most this share above the least. A pure function; any thread.
std::string rounds_differ(const Spread& rounds, double most = 0.25);

// Rows of named figures, said once: aligned text for people, JSON for programs. All results are
// printed by it. A value; one thread at a time.
//
// A table has its columns from the beginning and gets rows by add(). A record is a table of one
// row, to which put() adds one figure after the other; its text has a line for each of them.
class ResultTable {
 public:
  // What one figure is called, and how it is written.
  struct Column {
    // Name in JSON. Empty: left out of JSON. "a/b" is `b` in an object `a`.
    std::string key;
    // Title in text, with the unit. Empty: left out of the text.
    std::string title;
    // Digits of a figure in text after the point. Integers have no point.
    int digits = 0;
    // The factor from the JSON unit to the text unit. Not used for integers.
    double scale = 1;
    // In text a Spread is "median (min  max)"; false: the median alone.
    bool range = true;
  };
  // What stands in a row. Converts from what it can hold, so that a row reads as a list of values.
  // Values are in the unit of the key; the text has them in that of the title.
  class Cell {
   public:
    Cell() = default;  // absent: "-" in text and left out of JSON
    // NOLINTBEGIN(google-explicit-constructor)
    Cell(bool value) : value_(value) {}  // "yes" or "no" in text
    Cell(int64_t value) : value_(value) {}
    Cell(double value) : value_(value) {}
    Cell(std::string value) : value_(std::move(value)) {}
    Cell(const char* value) : value_(std::string(value)) {}
    Cell(const Spread& value) : value_(value) {}
    Cell(const std::optional<double>& value);
    // NOLINTEND(google-explicit-constructor)

   private:
    friend class ResultTable;
    bool absent() const { return std::holds_alternative<std::monostate>(value_); }
    std::string text(const Column& column) const;
    nlohmann::json json() const;

    std::variant<std::monostate, bool, int64_t, double, std::string, Spread> value_;
  };

  ResultTable() = default;  // a record
  explicit ResultTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A figure of a record: a column, and what stands in it.
  void put(const Column& column, const Cell& value);
  // The next row of a table: as many cells as there are columns, in their order.
  void add(std::vector<Cell> row) { rows_.push_back({std::move(row), {}}); }
  // A line of text below the last row. There must be one. As words of cells, it reaches a terminal
  // with escapes (printable()).
  void note(const std::string& line) { rows_.back().notes.push_back(line); }

  // Columns as wide as they have to be: words to the left, figures to the right; each line, titles
  // first, after `indent` spaces.
  std::string text(size_t indent = 0) const;
  // An array with an object for each row. Absent cells are left out.
  nlohmann::json json() const;
  // A record: a line for each figure, its title first. Absent figures are left out.
  std::string record_text(size_t indent) const;
  // A record: the object of its row.
  nlohmann::json record_json() const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::vector<std::string> notes;
  };
  // Titles, then rows, as they are written.
  std::vector<std::vector<std::string>> lines() const;
  bool holds_words(size_t column) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Prints a result on standard output: as JSON (on one line, or indented by `indent` spaces), or the
// text. Returns ExitCode::ok. output: a file that the command has written; where that is standard
// output, the result goes to standard error.
ExitCode print_result(bool as_json, const nlohmann::json& json, const std::string& text,
                      int indent = -1, const std::string& output = "");

}  // namespace stoker
