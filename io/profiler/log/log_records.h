#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "io/profiler/log/log_region.h"
#include "io/profiler/profile.h"

namespace stoker {

// Puts the records of a Darshan log into a profile, for as long as there is memory: a small file
// can hold very many. One thread at a time. Error(ExitCode::data) for damage.
class LogRecords {
 public:
  LogRecords(IoProfile& profile, uint64_t most_memory)
      : profile_(profile), memory_left_(most_memory) {}

  // counted: a length stands before each, as in format 3.00.
  void add_names(LogRegion& region, bool counted);
  // Whether records of this version of the module are read.
  static bool reads_posix(uint32_t version) { return version >= 1 && version <= 4; }
  static bool reads_stdio(uint32_t version) { return version == 1 || version == 2; }
  static bool reads_segments(uint32_t version) { return version == 1 || version == 2; }
  static bool reads_heat_maps(uint32_t version) { return version == 1; }
  void add_posix(LogRegion& region, uint32_t version);
  void add_stdio(LogRegion& region, uint32_t version);
  void add_segments(LogRegion& region, uint32_t version);
  // Those of POSIX and STDIO.
  void add_heat_maps(LogRegion& region, uint32_t version);

 private:
  // The file of that record, which is there once for each rank.
  FileIo& file(LogRegion& region, uint64_t id, int64_t rank);
  void spend(LogRegion& region, uint64_t bytes);

  IoProfile& profile_;
  uint64_t memory_left_;
  std::unordered_map<uint64_t, std::string> names_;
  std::map<std::pair<uint64_t, int64_t>, size_t> files_;
};

}  // namespace stoker
