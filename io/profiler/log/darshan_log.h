#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/core/system/file.h"
#include "io/core/system/memory.h"
#include "io/profiler/profile.h"

namespace stoker {

// What a log file of Darshan's holds. A value.
struct DarshanLog {
  // What the file says of one of Darshan's modules.
  struct Module {
    std::string name;  // as Darshan's own tools print it: "POSIX", "MPI-IO"
    uint32_t version = 0;
    bool partial = false;  // its memory ran out: there was more
    bool read = false;     // its records are in the profile; the others' are left out
  };
  std::string version;  // of the format: "3.41"
  std::map<std::string, std::string> metadata;
  std::vector<Module> modules;  // those that have records
  IoProfile profile;
};

// The profile as a log of format 3.41: POSIX (4), STDIO (2), DXT_POSIX (1) and, from its segments,
// HEATMAP (1). Darshan's own tools read it. What has no place in their format is in the job's
// metadata: the host, the steps, how much was dropped, and the kernel's count. Any thread.
std::string darshan_log(const IoProfile& profile);
// The same as a file that is whole and durable, or not there. IoError.
void write_darshan_log(const IoProfile& profile, const std::string& path);

// A log of Darshan 3 (formats 3.00 to 3.41), ours or another program's, in either byte order and
// any compression: POSIX (1 to 4), STDIO (1 and 2) and DXT_POSIX (1 and 2). Counters and times that
// an older module does not have are -1, as Darshan's own tools say it; times that are not numbers
// are 0. Version 1 of POSIX, which has the calls of streams too, has them as calls. Any thread.
//
// IoError where the file cannot be read; Error(ExitCode::data), which says what is wrong and what
// to do, if it is not such a log, is damaged, or would take more than `most_memory`.
constexpr uint64_t kDarshanMemory = uint64_t{2} << 30;
DarshanLog read_darshan_log(const std::string& path, uint64_t most_memory = kDarshanMemory,
                            Readable readable = Readable::regular);
// The same of a file's bytes; `name` is for messages.
DarshanLog parse_darshan_log(Bytes bytes, const std::string& name,
                             uint64_t most_memory = kDarshanMemory);

// The heat maps of a module, by the rules of Darshan's module HEATMAP: at most 200 bins of equal
// width, a tenth of a second or that doubled until they hold the whole session; a segment's bytes
// are spread over the time it took. One of each rank that has segments, and all have the same bins;
// without any segment those of the log that the profile is of. Any thread.
HeatMaps posix_heat_maps(const IoProfile& profile);
HeatMaps stdio_heat_maps(const IoProfile& profile);

}  // namespace stoker
