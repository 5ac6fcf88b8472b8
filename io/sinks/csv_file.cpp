#include "io/sinks/csv_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace stoker {

void CsvFile::add(const std::vector<RowField>& row) {
  std::string names;
  std::string values;
  for (const RowField& field : row) {
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
  if (!header_) values.insert(0, names + "\n");
  header_ = true;
  file_.write(values + "\n");
}

}  // namespace stoker
