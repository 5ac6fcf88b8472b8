#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/file.h"
#include "io/core/text/csv.h"

namespace stoker {

// Reads a CSV file with a header, as our sinks write it (steps.csv, timeline.csv), row by row: as
// long as it may be, it takes some megabytes. Its fields are numbers, or nothing where nothing was
// measured: what is no finite number was not. A last line without its end (the process was killed)
// is left out. Columns are found by name, so that a table of another release, with more or fewer of
// them, is read all the same. One thread. Error(ExitCode::environment), which names `path`, for
// what is not such a table; IoError.
class TableReader {
 public:
  // Where there is no such file, there are no columns and no rows.
  explicit TableReader(const std::string& path);
  // A file's text.
  TableReader(std::string_view text, const std::string& path);
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  // The place of a column. kNone: there is no such column.
  size_t find(const std::string& name) const;
  static constexpr size_t kNone = SIZE_MAX;
  // Goes to the next row, at first to the first one. False: there is none.
  bool next();
  // A value of the row. Empty also for kNone.
  std::optional<double> value(size_t column) const;

 private:
  void read_header();
  bool read_row();
  bool fill();

  const std::string path_;
  FileDescriptor file_;              // none: all of the text is in the buffer
  std::string buffer_;               // whole lines, and what has come of the next one
  size_t whole_ = 0;                 // bytes of whole lines
  std::optional<CsvReader> reader_;  // of these
  int64_t lines_before_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string> fields_;  // of the row
};

// Such a file as a whole. A value.
class Table {
 public:
  using Column = std::vector<std::optional<double>>;
  Table() = default;

  // Errors as TableReader.
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
  explicit Table(TableReader& reader);

  std::vector<std::string> names_;
  std::vector<Column> columns_;
};

}  // namespace stoker
