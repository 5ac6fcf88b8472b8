#include "io/dataset/listed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/text/csv.h"
#include "io/core/text/text.h"
#include "io/dataset/class_names.h"

namespace stoker {
namespace {

// A whole number from 0 on, or nothing.
std::optional<int64_t> number_of(const std::string& text) {
  int64_t value = 0;
  const bool digits = text.find_first_not_of("0123456789") == text.npos;
  if (!digits || !parse_number(text, value)) return std::nullopt;
  return value;
}

// A row of the list `name`, which begins on that line.
ListedFile listed_file(const std::vector<std::string>& fields, int64_t line,
                       const std::string& name) {
  const auto refuse = [&](const char* what) {
    throw Error(ExitCode::config, fmt::format("dataset: {}:{}: {}", name, line, what));
  };
  constexpr const char* kNoLabel = "has no label: expected path,label";
  if (fields.size() < 2) refuse(kNoLabel);
  if (fields.size() > 2) {
    refuse("has more than two columns: a path with a comma needs quotes (\"a,b.jpg\",1)");
  }
  if (fields[0].empty()) refuse("has no path: expected path,label");
  if (fields[1].empty()) refuse(kNoLabel);
  return {to_text(fields[0]), to_text(fields[1]), line};
}

}  // namespace

std::vector<ListedFile> parse_listed_files(std::string_view text, const std::string& name) {
  std::vector<ListedFile> files;
  CsvReader reader(text);
  std::vector<std::string> fields;
  try {
    while (reader.next(fields)) {
      ListedFile row = listed_file(fields, reader.line(), name);
      const bool heading = files.empty() && row.path == "path" && row.label == "label";
      if (!heading) files.push_back(std::move(row));
    }
  } catch (const CsvError& error) {
    throw Error(ExitCode::config,
                fmt::format("dataset: {}:{}: {}", name, error.line(), error.what()));
  }
  return files;
}

ListedLabels::ListedLabels(std::vector<std::string> names,
                           std::initializer_list<std::span<const ListedFile>> lists, int64_t first)
    : classes_(std::move(names)), first_(first) {
  std::set<std::string> labels;
  for (const auto& list : lists) {
    for (const ListedFile& file : list) labels.insert(file.label);
  }
  int64_t highest = -1;
  bool numbers = true;
  for (const std::string& label : labels) {
    const std::optional<int64_t> number = number_of(label);
    highest = std::max(highest, number.value_or(-1));
    numbers = numbers && number;
  }
  if (classes_.empty() && !numbers) {
    classes_.assign(labels.begin(), labels.end());
  } else if (classes_.empty()) {
    const int64_t last = std::min(highest, first + kMaxClasses - 1);
    for (int64_t i = first; i <= last; ++i) classes_.push_back(std::to_string(i));
  }
  for (size_t i = 0; i < classes_.size(); ++i) {
    places_.emplace(classes_[i], static_cast<int64_t>(i));
  }
}

std::optional<int64_t> ListedLabels::find(const std::string& label) const {
  const auto place = places_.find(label);
  if (place != places_.end()) return place->second;
  const std::optional<int64_t> number = number_of(label);
  const bool known = number && *number >= first_ && *number - first_ < std::ssize(classes_);
  return known ? std::optional(*number - first_) : std::nullopt;
}

}  // namespace stoker
