#include "io/sinks/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "io/core/error.h"

namespace stoker {

CsvFile::CsvFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wx")) {
  if (file_ == nullptr) throw_errno("create", path_, errno);
  std::setvbuf(file_.get(), nullptr, _IOLBF, BUFSIZ);
}

void CsvFile::add(const std::vector<RowField>& row) {
  std::string names;
  std::string values;
  for (const RowField& field : row) {
    // A tier's name may hold anything.
    std::string name = field.name;
    std::ranges::replace_if(
        name, [](char c) { return c == ',' || c == '"' || c < ' '; }, '_');
    names += (names.empty() ? "" : ",") + name;
    if (&field != row.data()) values += ',';
    if (!field.value) continue;
    const bool counted = field.unit == Unit::none || field.unit == Unit::bytes;
    values += fmt::format("{:.{}g}", *field.value,
                          counted                         ? 15
                          : field.unit == Unit::unix_time ? 13
                                                          : 9);
  }
  if (!header_) put(names);
  header_ = true;
  put(values);
}

void CsvFile::flush() {
  if (std::fflush(file_.get()) != 0) throw_errno("write", path_, errno);
}

void CsvFile::put(const std::string& line) {
  if (std::fprintf(file_.get(), "%s\n", line.c_str()) < 0) throw_errno("write", path_, errno);
}

}  // namespace stoker
