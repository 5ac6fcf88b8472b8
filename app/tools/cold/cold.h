#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/tools/cold/cache_survey.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker cold` is asked for. A value.
struct ColdArguments {
  std::vector<std::string> paths;
  bool evict = false;
  bool certify = false;
  bool files = false;   // a row for each file
  bool ranges = false;  // and its cached bytes
  int64_t top = 20;     // rows; 0: all
  bool json = false;
};

// Some bytes of a file that an eviction left, or that nobody can call cold. A value.
struct NotCold {
  std::string path;
  uint64_t bytes = 0;
  std::string why;
};

// What was found. A value.
struct ColdResult {
  // One row of the table: a file, or all files of a folder.
  struct Row {
    std::string path;
    int64_t files = 0;
    uint64_t bytes = 0;
    uint64_t cached_bytes = 0;
    int64_t unknown = 0;                   // files that nothing is known of
    std::vector<CachedRange> ranges = {};  // of a file
  };
  std::vector<Row> rows;  // the most cached bytes first
  Row total;
  // By file system: type, and what of it can be known.
  struct OfFileSystem {
    FileSystem file_system;
    int64_t files = 0;
    uint64_t bytes = 0;
  };
  std::vector<OfFileSystem> file_systems;
  std::vector<UnreadableFile> unreadable;
  std::vector<NotCold> not_cold;  // after evict or for certify; one for each file
  bool evicted = false;
  uint64_t cached_before = 0;  // where evicted

  // Whether all bytes are known, and known not to be cached.
  bool cold() const;
};

// Where a file's row is: itself, or its folder right below one of the paths. Pure.
std::string row_of(const std::string& path, const std::vector<std::string>& paths);

nlohmann::json cold_json(const ColdResult& result);
std::string cold_text(const ColdResult& result, const ColdArguments& arguments);

// `stoker cold`: which part of files is in the page cache. ExitCode::threshold where they were to
// be evicted or certified, and not all of them are known to be cold. IoError where a path is not
// there.
ExitCode show_cold(const ColdArguments& arguments);

}  // namespace stoker
