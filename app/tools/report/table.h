#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// A CSV file with a header, as our sinks write it (steps.csv, timeline.csv): numbers, or nothing
// where nothing was measured. A value.
// Columns are found by name, so that a table of another release, with more or fewer of them, is
// read all the same.
class Table {
 public:
  using Column = std::vector<std::optional<double>>;

  // A last line without its end (the process was killed) is left out; what is no finite number was
  // not measured. Error(ExitCode::environment), which names `path`, for text that is not such a
  // table.
  static Table parse(std::string_view text, const std::string& path);
  // The same of a file; empty where it is absent.
  static Table read(const std::string& path);

  // Columns in the order of the file, and rows without the header.
  const std::vector<std::string>& names() const { return names_; }
  // The length of every column.
  size_t rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
  // A column by its name. Empty if there is no such column.
  const Column& column(const std::string& name) const;

 private:
  // The header, or one more row.
  void add(const std::vector<std::string>& fields, const std::string& path);

  std::vector<std::string> names_;
  std::vector<Column> columns_;
};

}  // namespace stoker
