#include "io/storage/object/http_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/storage/keys.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr JsonLimits kOneDirectory{4, 20'000'000};

IndexLine index_line(std::string_view line) {
  IndexLine result;
  const size_t tab = line.find('\t');
  if (tab != line.npos) {
    uint64_t bytes = 0;
    if (!parse_number(line.substr(0, tab), bytes)) {
      throw Error(ExitCode::data, "expected bytes, a tab and a key, or a key alone");
    }
    result.bytes = bytes;
    line.remove_prefix(tab + 1);
  }
  result.key = plain_key(to_text(line));
  if (!result.key.empty()) check_key(result.key);
  return result;
}

DirectoryEntry directory_entry(const nlohmann::json& value) {
  DirectoryEntry entry;
  const std::string name = value.at("name").get<std::string>();
  const bool wrong = name.empty() || name == "." || name == ".." || name.find('/') != name.npos ||
                     name.find('\0') != name.npos;
  if (wrong) throw Error(ExitCode::data, "a directory has an entry without a proper name");
  entry.name = to_text(name);
  entry.directory = value.at("type").get<std::string>() == "directory";
  if (entry.directory) return entry;
  const int64_t bytes = whole_number(value.at("size"));
  if (bytes < 0) throw Error(ExitCode::data, "a directory has a file of a size below 0");
  entry.bytes = static_cast<uint64_t>(bytes);
  return entry;
}

}  // namespace

std::vector<IndexLine> parse_index(std::string_view text) {
  std::vector<IndexLine> lines;
  if (text.find('\0') != text.npos) throw Error(ExitCode::data, "it is no text: write it as UTF-8");
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.empty()) continue;
    try {
      lines.push_back(index_line(line));
      if (lines.back().key.empty()) lines.pop_back();  // the folder itself, as `find .` has it
    } catch (const Error& error) {
      throw Error(ExitCode::data, fmt::format("line {}: {}", number, error.what()));
    }
  }
  std::ranges::sort(lines, {}, &IndexLine::key);
  const auto twice = std::ranges::adjacent_find(lines, {}, &IndexLine::key);
  if (twice != lines.end()) throw Error(ExitCode::data, "key '" + twice->key + "' is there twice");
  return lines;
}

std::vector<DirectoryEntry> parse_directory(std::string_view json) {
  const nlohmann::json document = parse_json(json, kOneDirectory);
  if (!document.is_array()) throw Error(ExitCode::data, "a listing must be a JSON array");
  std::vector<DirectoryEntry> entries;
  entries.reserve(document.size());
  try {
    for (const nlohmann::json& value : document) entries.push_back(directory_entry(value));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::data, std::string("a listing's entry: ") + error.what());
  }
  return entries;
}

}  // namespace stoker
