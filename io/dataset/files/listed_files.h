#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// A line of a list of files. A value.
struct ListedFile {
  std::string path;
  std::string label;
  int64_t line = 0;  // on which it begins, from 1
};

// A list of files. A value.
struct FileRows {
  std::string name;  // the list's key, for messages
  std::vector<ListedFile> rows = {};
};

// The files of a list: rows "path,label" of CSV (RFC 4180), each byte of them as to_text() makes
// it. Paths are as plain_key() makes them, and labels without the blanks around them. Lines may end
// in LF alone, the last one in neither; a first row "path,label" is a heading; empty lines are
// passed over. Error(ExitCode::config), "dataset: <name>:<line>: ...", for any other row. Pure; any
// thread.
std::vector<ListedFile> parse_listed_files(std::string_view text, const std::string& name);

// Whether the first row of a list is a heading of its own words ("image_id,breed"): there is no
// such file, while there are files of other rows, and nothing about the row is like the others:
// neither the extension of its path nor its label, which is no number. Pure but for `is_there`.
bool has_heading(std::span<const ListedFile> rows,
                 const std::function<bool(const std::string& path)>& is_there);

// What the labels of lists mean. Immutable; any thread.
class ListedLabels {
 public:
  // names: the names of the classes by label. If empty, the lists say them. Then labels that are
  // all whole numbers ("7", or "7.0" as programs for tables write it) are those of the classes, and
  // others are their names, sorted bytewise. first: the number of the first class.
  ListedLabels(std::vector<std::string> names,
               std::initializer_list<std::span<const ListedFile>> lists, int64_t first);
  const std::vector<std::string>& classes() const { return classes_; }
  // Finds the class with this name, or else with this number. Nothing: no class has this label.
  std::optional<int64_t> find(const std::string& label) const;
  // Where the labels of the lists are what the classes are made of.
  bool are_numbers() const { return made_of_ == Made::numbers; }
  bool are_names() const { return made_of_ == Made::names; }
  int64_t first() const { return first_; }

 private:
  enum class Made { elsewhere, numbers, names };
  std::vector<std::string> classes_;
  std::map<std::string, int64_t> places_;
  Made made_of_ = Made::elsewhere;
  const int64_t first_;
};

// Tells what can hardly be meant, a line for each: labels for a value that is missing ("nan"),
// names among numbers, classes without files, labels that are tested and not trained.
// Error(ExitCode::config) where a number makes a thousand times as many classes as have files. Any
// thread.
void doubt_lists(const FileRows& train, const FileRows& test, const ListedLabels& labels,
                 const Notify& notify);

}  // namespace stoker
