#include "app/tools/report/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

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
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::vector<std::string_view> fields = split(text.substr(0, end));
    if (table.names_.empty()) {
      table.names_.assign(fields.begin(), fields.end());
      table.columns_.resize(fields.size());
      continue;
    }
    if (fields.size() != table.names_.size()) {
      throw Error(ExitCode::environment, path + ": a line has " + std::to_string(fields.size()) +
                                             " fields, its header " +
                                             std::to_string(table.names_.size()));
    }
    for (size_t i = 0; i < fields.size(); ++i) table.columns_[i].push_back(number(fields[i], path));
  }
  return table;
}

const Table::Column& Table::column(const std::string& name) const {
  static const Column kNone;
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? kNone : columns_[static_cast<size_t>(found - names_.begin())];
}

}  // namespace stoker
