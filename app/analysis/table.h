#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stoker {

// A CSV file with a header, as our sinks write it (steps.csv, timeline.csv): numbers, or nothing
// where nothing was measured. A value.
// Columns are found by name, so that a table of another release, with more or fewer of them, is
// read all the same.
class Table {
 public:
  using Column = std::vector<std::optional<double>>;

  // Empty where the file is absent. A last line without its end (the process was killed) is left
  // out. Error(ExitCode::environment) for a file that is not such a table.
  static Table read(const std::string& path);

  // Columns in the order of the file, and rows without the header.
  const std::vector<std::string>& names() const { return names_; }
  // Of every column.
  size_t rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
  // A column by its name; empty where there is none.
  const Column& column(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  std::vector<Column> columns_;
};

}  // namespace stoker
