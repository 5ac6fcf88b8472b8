#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// A line of a list of files. A value.
struct ListedFile {
  std::string path;
  std::string label;
  int64_t line = 0;  // on which it begins, from 1
};

// The files of a list: rows "path,label" of CSV (RFC 4180), each byte of them as to_text() makes
// it. Lines may end in LF alone, the last one in neither; a first row "path,label" is a heading;
// empty lines are passed over. Error(ExitCode::config), "dataset: <name>:<line>: ...", for any
// other row. Pure; any thread.
std::vector<ListedFile> parse_listed_files(std::string_view text, const std::string& name);

// What the labels of lists mean. Immutable; any thread.
class ListedLabels {
 public:
  // names: the names of the classes by label. If empty, the lists say them. Then labels that are
  // all whole numbers are those of the classes, and others are their names, sorted bytewise. first:
  // the number of the first class.
  ListedLabels(std::vector<std::string> names,
               std::initializer_list<std::span<const ListedFile>> lists, int64_t first);
  const std::vector<std::string>& classes() const { return classes_; }
  // Finds the class with this name, or else with this number. Nothing: no class has this label.
  std::optional<int64_t> find(const std::string& label) const;

 private:
  std::vector<std::string> classes_;
  std::map<std::string, int64_t> places_;
  const int64_t first_;
};

}  // namespace stoker
