#include "app/tools/report/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/csv.h"

namespace stoker {
namespace {

std::optional<double> number(std::string_view field, const std::string& path) {
  if (field.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) {
    throw Error(ExitCode::environment,
                path + ": '" + std::string(field) + "' is no number; is it a file of stoker's?");
  }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Table Table::read(const std::string& path) { return parse(read_if_there(path).value_or(""), path); }

Table Table::parse(std::string_view text, const std::string& path) {
  Table table;
  CsvReader reader(text.substr(0, text.rfind('\n') + 1));
  std::vector<std::string> fields;
  try {
    while (reader.next(fields)) table.add(fields, path);
  } catch (const CsvError& error) {
    throw Error(ExitCode::environment,
                path + ": line " + std::to_string(error.line()) + " " + error.what());
  }
  return table;
}

void Table::add(const std::vector<std::string>& fields, const std::string& path) {
  if (names_.empty()) {
    names_ = fields;
    columns_.resize(fields.size());
    return;
  }
  if (fields.size() != names_.size()) {
    throw Error(ExitCode::environment, path + ": a line has " + std::to_string(fields.size()) +
                                           " fields, its header " + std::to_string(names_.size()));
  }
  for (size_t i = 0; i < fields.size(); ++i) columns_[i].push_back(number(fields[i], path));
}

const Table::Column& Table::column(const std::string& name) const {
  static const Column kNone;
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? kNone : columns_[static_cast<size_t>(found - names_.begin())];
}

}  // namespace stoker
