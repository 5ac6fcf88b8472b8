#include "app/tools/report/table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr size_t kPiece = 1 << 20, kLongestLine = 16 << 20;

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

TableReader::TableReader(const std::string& path) : path_(path) {
  file_ = open_regular("read", path, O_RDONLY);
  if (file_) read_header();
}

TableReader::TableReader(std::string_view text, const std::string& path)
    : path_(path), buffer_(text.substr(0, text.rfind('\n') + 1)), whole_(buffer_.size()) {
  reader_.emplace(buffer_);
  read_header();
}

void TableReader::read_header() {
  if (read_row()) names_ = fields_;
}

size_t TableReader::find(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? kNone : static_cast<size_t>(found - names_.begin());
}

bool TableReader::next() {
  if (names_.empty() || !read_row()) return false;
  if (fields_.size() == names_.size()) return true;
  throw Error(ExitCode::environment, path_ + ": a line has " + std::to_string(fields_.size()) +
                                         " fields, its header " + std::to_string(names_.size()));
}

std::optional<double> TableReader::value(size_t column) const {
  return column == kNone ? std::nullopt : number(fields_[column], path_);
}

bool TableReader::read_row() {
  try {
    while (!reader_ || !reader_->next(fields_)) {
      if (!fill()) return false;
    }
    return true;
  } catch (const CsvError& error) {
    throw Error(
        ExitCode::environment,
        path_ + ": line " + std::to_string(lines_before_ + error.line()) + " " + error.what());
  }
}

// The next whole lines. False: there are none.
bool TableReader::fill() {
  if (!file_) return false;
  reader_.reset();
  const auto begin = buffer_.begin();
  lines_before_ += std::count(begin, begin + static_cast<std::ptrdiff_t>(whole_), '\n');
  buffer_.erase(0, whole_);
  for (whole_ = 0; whole_ == 0; whole_ = buffer_.rfind('\n') + 1) {
    const size_t size = buffer_.size();
    if (size >= kLongestLine) {
      throw Error(ExitCode::environment, path_ + ": a line has no end; is it a file of stoker's?");
    }
    buffer_.resize(size + kPiece);
    const ssize_t count =
        uninterrupted([&] { return ::read(file_.get(), buffer_.data() + size, kPiece); });
    if (count < 0) throw_errno("read", path_, errno);
    buffer_.resize(size + static_cast<size_t>(count));
    if (count == 0) return false;
  }
  reader_.emplace(std::string_view(buffer_).substr(0, whole_));
  return true;
}

Table::Table(TableReader& reader) : names_(reader.names()), columns_(names_.size()) {
  while (reader.next()) {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(reader.value(i));
  }
}

Table Table::read(const std::string& path) {
  TableReader reader(path);
  return Table(reader);
}

Table Table::parse(std::string_view text, const std::string& path) {
  TableReader reader(text, path);
  return Table(reader);
}

const Table::Column& Table::column(const std::string& name) const {
  static const Column kNone;
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? kNone : columns_[static_cast<size_t>(found - names_.begin())];
}

}  // namespace stoker
