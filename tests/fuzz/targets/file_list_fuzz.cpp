#include <algorithm>
#include <string>

#include "io/core/text/text.h"
#include "io/dataset/files/listed_files.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

std::string quoted(const std::string& field) {
  std::string result = "\"";
  for (const char c : from_text(field)) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + '"';
}

}  // namespace
}  // namespace stoker

STOKER_FUZZ_TARGET(file_list) {
  using namespace stoker;
  const std::vector<ListedFile> files = parse_listed_files(fuzz::text(input), "list.csv");
  std::string written = "path,label\n";
  for (const ListedFile& file : files) {
    written += quoted(file.path) + "," + quoted(file.label) + "\r\n";
  }
  const std::vector<ListedFile> again = parse_listed_files(written, "again.csv");
  fuzz::require(std::ranges::equal(files, again,
                                   [](const ListedFile& a, const ListedFile& b) {
                                     return a.path == b.path && a.label == b.label;
                                   }),
                "a list changes when it is read again");
  // A large number would be as many classes.
  if (!std::ranges::all_of(files, [](const ListedFile& f) { return f.label.size() < 4; })) return;
  const ListedLabels labels({}, {files}, 0);
  for (const ListedFile& file : files) {
    const std::optional<int64_t> label = labels.find(file.label);
    fuzz::require(label && *label < std::ssize(labels.classes()), "a label is no class");
  }
}
