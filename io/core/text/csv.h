#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Tables of CSV (RFC 4180), written and read. Pure; any thread.

namespace stoker {

// A field as it stands in a row: in quotes where it has a comma, a quote, or the end of a line, or
// begins with a mark of the byte order.
std::string csv_field(std::string_view text);
// The same, in quotes in any case.
std::string csv_quoted(std::string_view text);

// What is no CSV, and on which line it begins, from 1.
class CsvError final : public std::runtime_error {
 public:
  CsvError(int64_t line, const char* what) : std::runtime_error(what), line_(line) {}
  int64_t line() const { return line_; }

 private:
  int64_t line_;
};

// Reads a text row by row. Lines may end in LF alone, the last one in neither; empty lines, and
// marks of the byte order in front of a row, are passed over. One thread.
class CsvReader {
 public:
  // The text must outlive it.
  explicit CsvReader(std::string_view text) : text_(text) {}
  // The fields of the next row, without their quotes. False: the end. CsvError.
  bool next(std::vector<std::string>& fields);
  // On which line the last row began, from 1.
  int64_t line() const { return row_line_; }

 private:
  size_t line_end() const;
  bool end_of_line();
  bool skip(char c);
  void read_plain(std::string& field);
  void read_quoted(std::string& field);

  const std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t row_line_ = 1;
};

// The parts of a list that knows no quotes, such as "1,2,4". The last one of `most` keeps the rest.
std::vector<std::string_view> split_at(std::string_view text, char separator,
                                       size_t most = SIZE_MAX);

}  // namespace stoker
