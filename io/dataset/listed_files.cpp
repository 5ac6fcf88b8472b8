#include "io/dataset/listed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/class_names.h"

namespace stoker {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A whole number from 0 on, or nothing.
std::optional<int64_t> number_of(const std::string& text) {
  int64_t value = 0;
  const bool digits = text.find_first_not_of("0123456789") == text.npos;
  if (!digits || !parse_number(text, value)) return std::nullopt;
  return value;
}

class ListReader {
 public:
  ListReader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  // False: the end.
  bool next(ListedFile& row) {
    while (end_of_line()) {
    }
    if (at_ == text_.size()) return false;
    row.line = line_;
    row.path = to_text(field());
    if (!skip(',')) fail(row.line, "has no label: expected path,label");
    row.label = to_text(field());
    if (skip(',')) {
      fail(row.line, "has more than two columns: a path with a comma needs quotes (\"a,b.jpg\",1)");
    }
    (void)end_of_line();
    if (row.path.empty()) fail(row.line, "has no path: expected path,label");
    if (row.label.empty()) fail(row.line, "has no label: expected path,label");
    return true;
  }

 private:
  [[noreturn]] void fail(int64_t line, const char* what) const {
    throw Error(ExitCode::config, fmt::format("dataset: {}:{}: {}", name_, line, what));
  }

  bool skip(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Bytes of the end of a line that is here.
  size_t line_end() const {
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
  }
  bool end_of_line() {
    const size_t bytes = line_end();
    at_ += bytes;
    line_ += bytes > 0 ? 1 : 0;
    return bytes > 0;
  }

  std::string field() {
    if (skip('"')) return quoted();
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(",\n\"", at_), text_.size());
    if (at_ < text_.size() && text_[at_] == '"') {
      fail(line_, "has a quote in a field that does not begin with one");
    }
    if (at_ > begin && at_ < text_.size() && text_[at_] == '\n' && text_[at_ - 1] == '\r') --at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Reads a quoted field, behind its first quote.
  std::string quoted() {
    const int64_t first = line_;
    std::string value;
    while (true) {
      const size_t quote = text_.find('"', at_);
      if (quote == text_.npos) fail(first, "has a quoted field without an end");
      const std::string_view part = text_.substr(at_, quote - at_);
      line_ += std::ranges::count(part, '\n');
      value += part;
      at_ = quote + 1;
      if (skip('"')) {
        value += '"';
      } else if (at_ == text_.size() || text_[at_] == ',' || line_end() > 0) {
        return value;
      } else {
        fail(first, "has something behind a quoted field");
      }
    }
  }

  const std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

std::vector<ListedFile> parse_listed_files(std::string_view text, const std::string& name) {
  std::vector<ListedFile> files;
  ListReader reader(text, name);
  for (ListedFile row; reader.next(row);) {
    const bool heading = files.empty() && row.path == "path" && row.label == "label";
    if (!heading) files.push_back(row);
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
