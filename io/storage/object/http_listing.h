#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What a web server can say of its objects. Hostile input is safe. Any thread.

// A line of an index file. A value.
struct IndexLine {
  std::string key;
  std::optional<uint64_t> bytes;  // nothing: the line had the key alone
};
// Reads lines of "bytes<TAB>key", or of keys alone, as plain_key() makes them; empty ones do not
// count. The result is sorted by key. Error(ExitCode::data), which names the line, for what is no
// key, no number, or there twice.
std::vector<IndexLine> parse_index(std::string_view text);

// An entry of a directory as nginx's `autoindex_format json` has it. A value.
struct DirectoryEntry {
  std::string name;  // as to_text() makes it; one component of a path
  bool directory = false;
  uint64_t bytes = 0;
};
// Error(ExitCode::data) where it is no such listing.
std::vector<DirectoryEntry> parse_directory(std::string_view json);

}  // namespace stoker
