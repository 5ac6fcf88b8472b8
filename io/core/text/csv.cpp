#include "io/core/text/csv.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::string csv_field(std::string_view text) {
  const bool plain =
      text.find_first_of(",\"\r\n") == text.npos && !text.starts_with(kByteOrderMark);
  return plain ? std::string(text) : csv_quoted(text);
}

std::string csv_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

bool CsvReader::next(std::vector<std::string>& fields) {
  do {  // files that were joined have marks in the middle, too
    if (text_.substr(at_).starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  } while (end_of_line());
  if (at_ == text_.size()) return false;
  row_line_ = line_;
  size_t count = 0;
  do {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    if (skip('"')) {
      read_quoted(field);
    } else {
      read_plain(field);
    }
  } while (skip(','));
  fields.resize(count);
  (void)end_of_line();
  return true;
}

bool CsvReader::skip(char c) {
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

// Bytes of the end of a line that is here.
size_t CsvReader::line_end() const {
  const std::string_view rest = text_.substr(at_);
  return rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
}

bool CsvReader::end_of_line() {
  const size_t bytes = line_end();
  at_ += bytes;
  line_ += bytes > 0 ? 1 : 0;
  return bytes > 0;
}

void CsvReader::read_plain(std::string& field) {
  const size_t begin = at_;
  at_ = std::min(text_.find_first_of(",\n\"", at_), text_.size());
  if (at_ < text_.size() && text_[at_] == '"') {
    throw CsvError(line_, "has a quote in a field that does not begin with one");
  }
  if (at_ > begin && at_ < text_.size() && text_[at_] == '\n' && text_[at_ - 1] == '\r') --at_;
  field = text_.substr(begin, at_ - begin);
}

// Behind the first quote.
void CsvReader::read_quoted(std::string& field) {
  const int64_t first = line_;
  while (true) {
    const size_t quote = text_.find('"', at_);
    if (quote == text_.npos) throw CsvError(first, "has a quoted field without an end");
    const std::string_view part = text_.substr(at_, quote - at_);
    line_ += std::ranges::count(part, '\n');
    field += part;
    at_ = quote + 1;
    if (skip('"')) {
      field += '"';
    } else if (at_ == text_.size() || text_[at_] == ',' || line_end() > 0) {
      return;
    } else {
      throw CsvError(first, "has something behind a quoted field");
    }
  }
}

std::vector<std::string_view> split_at(std::string_view text, char separator, size_t most) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most) {
    const size_t end = text.find(separator);
    if (end == text.npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace stoker
