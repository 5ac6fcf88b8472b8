#include "io/dataset/files/listed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/text/csv.h"
#include "io/core/text/text.h"
#include "io/dataset/class_names.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

constexpr const char* kDigits = "0123456789";

bool has_digits_alone(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

// A whole number from 0 on, or nothing.
std::optional<int64_t> number_of(std::string_view text) {
  const size_t point = text.find('.');
  const bool whole = point != text.npos && point + 1 < text.size() &&
                     text.find_first_not_of('0', point + 1) == text.npos;
  if (whole) text = text.substr(0, point);
  int64_t value = 0;
  if (!has_digits_alone(text) || !parse_number(text, value)) return std::nullopt;
  return value;
}

// A row of the list `name`, which begins on that line.
ListedFile listed_file(const std::vector<std::string>& fields, int64_t line,
                       const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ExitCode::config, fmt::format("dataset: {}:{}: {}", name, line, what));
  };
  const std::string no_label = "has no label: expected path,label, got '" + fields[0] + "'";
  if (fields.size() < 2) refuse(no_label);
  if (fields.size() > 2) {
    refuse(
        fmt::format("has {} columns: expected path,label, where a path with a comma needs quotes "
                    "(\"a,b.jpg\",1)",
                    fields.size()));
  }
  ListedFile row{plain_key(to_text(fields[0])), to_text(trimmed(fields[1])), line};
  if (row.path.empty()) refuse("has no path: expected path,label");
  if (row.label.empty()) refuse(no_label);
  return row;
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

bool has_heading(std::span<const ListedFile> rows,
                 const std::function<bool(const std::string& path)>& is_there) {
  if (rows.size() < 2) return false;
  const ListedFile& first = rows.front();
  if (number_of(first.label) || is_there(first.path)) return false;
  const std::string extension = key_extension(first.path);
  const std::span<const ListedFile> others = rows.subspan(1);
  const bool alike = std::ranges::any_of(others, [&](const ListedFile& row) {
    return row.label == first.label || (!extension.empty() && key_extension(row.path) == extension);
  });
  return !alike && std::ranges::any_of(others, is_there, &ListedFile::path);
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
  if (classes_.empty()) made_of_ = numbers ? Made::numbers : Made::names;
  if (are_names()) {
    classes_.assign(labels.begin(), labels.end());
  } else if (are_numbers()) {
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

namespace {

// The first row of each label, with the list that it is in.
struct FirstRows {
  struct Row {
    const FileRows* list;
    const ListedFile* file;
  };
  std::map<std::string, Row> by_label;

  FirstRows(const FileRows& train, const FileRows& test) {
    for (const FileRows* list : {&train, &test}) {
      for (const ListedFile& row : list->rows) {
        by_label.try_emplace(row.label, Row{list, &row});
      }
    }
  }
  // "'nan' (train.csv:7)" of the first label that the condition holds for; empty: of none.
  template <class F>
  std::string first(const F& condition) const {
    for (const auto& [label, row] : by_label) {
      if (condition(label)) {
        return fmt::format("'{}' ({}:{})", label, row.list->name, row.file->line);
      }
    }
    return {};
  }
};

bool means_nothing(const std::string& label) {
  static constexpr std::string_view kWords[] = {"nan", "null", "none", "n/a", "na", "<na>", "?"};
  return std::ranges::find(kWords, lower_case(label)) != std::end(kWords);
}

// What is told, or refused, of labels that are numbers.
void doubt_numbers(const FirstRows& rows, const ListedLabels& labels, const Notify& notify) {
  std::set<int64_t> used;
  for (const auto& [label, row] : rows.by_label) used.insert(labels.find(label).value_or(-1));
  used.erase(-1);
  const auto classes = std::ssize(labels.classes());
  const auto with_files = std::ssize(used);
  if (with_files == 0 || with_files == classes) return;
  constexpr int64_t kMany = 10'000;
  constexpr int64_t kTimes = 1'000;
  if (classes > kMany && classes / with_files > kTimes) {
    const std::string highest =
        rows.first([&](const std::string& label) { return labels.find(label) == *used.rbegin(); });
    throw Error(ExitCode::config,
                fmt::format("dataset: label {} makes {} classes, and {} of them have files: number "
                            "the classes from 0 on, or name them in an object (dataset.classes)",
                            highest, classes, with_files));
  }
  if (!notify) return;
  if (*used.begin() > 0 && *used.begin() + with_files == classes) {
    return notify(
        fmt::format("dataset: no file has label {0}, and there are {1} classes with it: "
                    "if labels begin with {2}, set dataset.label_offset={2}",
                    labels.first(), classes, labels.first() + *used.begin()));
  }
  notify(fmt::format("dataset: {} of {} classes have files: labels are numbers with gaps",
                     with_files, classes));
}

// Files that have two labels, or are trained on and tested as well.
void doubt_files(const FileRows& train, const FileRows& test, const Notify& notify) {
  std::unordered_map<std::string_view, FirstRows::Row> known;
  int64_t contradicted = 0, both = 0;
  std::string contradiction, shared;
  for (const FileRows* list : {&train, &test}) {
    for (const ListedFile& row : list->rows) {
      const auto [at, fresh] = known.emplace(row.path, FirstRows::Row{list, &row});
      const auto& [first_list, first] = at->second;
      if (first->label != row.label && contradicted++ == 0) {
        contradiction =
            fmt::format("'{}' has '{}' ({}:{}) and '{}' ({}:{})", row.path, first->label,
                        first_list->name, first->line, row.label, list->name, row.line);
      }
      if (first_list != list && both++ == 0) shared = row.path;
    }
  }
  if (contradicted > 0) {
    notify(fmt::format("dataset: another line has another label for {}: {}",
                       plural(contradicted, "file"), contradiction));
  }
  if (both > 0) {
    notify(fmt::format("dataset: training takes {} of {} as well, such as '{}'",
                       plural(both, "file"), test.name, shared));
  }
}

}  // namespace

void doubt_lists(const FileRows& train, const FileRows& test, const ListedLabels& labels,
                 const Notify& notify) {
  const FirstRows rows(train, test);
  std::set<std::optional<int64_t>> trained;
  for (const auto& [label, row] : rows.by_label) {
    if (row.list == &train) trained.insert(labels.find(label));
  }
  if (labels.are_numbers()) doubt_numbers(rows, labels, notify);
  if (!notify) return;
  doubt_files(train, test, notify);
  const auto tell = [&](const char* what, const std::string& label) {
    if (!label.empty()) notify(fmt::format(fmt::runtime(what), label));
  };
  tell("dataset: label {} looks like that of a value that is missing: remove its files, or name it",
       rows.first(means_nothing));
  tell("dataset: label {} is in no line that is trained on",
       rows.first([&](const std::string& label) { return !trained.contains(labels.find(label)); }));
  if (!labels.are_names()) return;
  const std::string number = rows.first(number_of);
  const std::string name = rows.first(std::not_fn(number_of));
  if (number.empty() || name.empty()) return;
  notify(
      fmt::format("dataset: labels are numbers such as {} and names such as {}, and all are "
                  "taken for names: if the numbers are those of classes, name the classes in an "
                  "object (dataset.classes)",
                  number, name));
}

}  // namespace stoker
