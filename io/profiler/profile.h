#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/metrics/tier_meter.h"
#include "io/profiler/counters/counter_table.h"

namespace stoker {

// What was seen of a process's I/O, file by file, in the counters of Darshan's modules POSIX
// (version 4) and STDIO (version 2): their order, names and rules are Darshan's, so that its log is
// these arrays as they are. Times are seconds since the begin of the profile; 0: never. Values, all
// of them.

// NOLINTBEGIN(readability-identifier-naming): Darshan's names, as in its logs.
#define STOKER_COUNTER(name) name,
#define STOKER_TIME(name, in_logs) name,
struct PosixCounters {
  enum Counter : size_t { STOKER_POSIX_COUNTERS(STOKER_COUNTER) kCounters };
  enum Time : size_t { STOKER_POSIX_TIMES(STOKER_TIME) kTimes };
  std::array<int64_t, kCounters> counters{};
  std::array<double, kTimes> times{};
};

struct StdioCounters {
  enum Counter : size_t { STOKER_STDIO_COUNTERS(STOKER_COUNTER) kCounters };
  enum Time : size_t { STOKER_STDIO_TIMES(STOKER_TIME) kTimes };
  std::array<int64_t, kCounters> counters{};
  std::array<double, kTimes> times{};
};
#undef STOKER_COUNTER
#undef STOKER_TIME
// NOLINTEND(readability-identifier-naming)

// "POSIX_OPENS", "POSIX_F_OPEN_START_TIMESTAMP", ... in the order of the enumerations.
std::span<const char* const> posix_counter_names();
std::span<const char* const> posix_time_names();
std::span<const char* const> stdio_counter_names();
std::span<const char* const> stdio_time_names();

// One read or write, as Darshan's module DXT keeps it.
struct IoSegment {
  int64_t offset = 0;
  int64_t bytes = 0;
  double begin_s = 0;
  double end_s = 0;
};

struct FileIo {
  uint64_t id = 0;   // Darshan's: a hash of the path
  int64_t rank = 0;  // in a log of many ranks: whose; below 0: all that shared it, as one
  std::string path;  // bytes, as the kernel has them
  std::optional<PosixCounters> posix;
  std::optional<StdioCounters> stdio;
  // In the order in which they ended. Those of streams are in no log, for Darshan keeps none.
  std::vector<IoSegment> reads, writes;                // of POSIX
  std::vector<IoSegment> stream_reads, stream_writes;  // of STDIO
};

// Bytes read and written over time, as Darshan's module HEATMAP keeps them: bins of equal width
// from the begin on. A value.
struct HeatMap {
  double bin_s = 0.1;
  std::vector<int64_t> read, written;  // of the same size
};
// By rank.
using HeatMaps = std::map<int64_t, HeatMap>;

// How many requests were of which size. A value.
struct RequestSizes {
  SizeCounts reads{}, writes{};
  bool operator==(const RequestSizes&) const = default;
};

struct IoProfile {
  struct Mount {
    std::string type, path;
  };
  int64_t begin_ns = 0, end_ns = 0;  // since 1970
  int64_t begin_monotonic_ns = 0;    // the begin on Clock; 0: another program's profile
  int64_t uid = 0;
  int64_t job_id = 0;  // the process
  int64_t ranks = 1;
  std::string host, command;
  // The training steps that were done when it began and when it ended. Absent: not known.
  struct Steps {
    int64_t first = 0, last = 0;
    bool operator==(const Steps&) const = default;
  };
  std::optional<Steps> steps;
  // What callers waited meanwhile for the models of emulated tiers, beside the calls on the tiers
  // below: no system calls, and in no counter. Summed over threads.
  struct Emulated {
    std::string tier;
    double read_s = 0, write_s = 0, meta_s = 0;
    // What its callers got of it: bytes, and for how long at least one read (write) was under way,
    // the waits included.
    int64_t bytes_read = 0, bytes_written = 0;
    double reading_s = 0, writing_s = 0;
    bool operator==(const Emulated&) const = default;
  };
  std::vector<Emulated> emulated;
  std::vector<Mount> mounts;
  std::vector<FileIo> files;
  // How large the requests of streams were, of all files: Darshan's module STDIO does not count it.
  // Absent: another program's log.
  std::optional<RequestSizes> stream_sizes;
  // What a log has in place of segments: the heat maps of its modules, and for how long at least
  // one read (write) of either module was under way. Empty: it has none, or this is no log.
  HeatMaps posix_heat, stdio_heat;
  struct UnderWay {
    double reading_s = -1, writing_s = -1;  // below 0: not known
  };
  UnderWay under_way;
  // Where the cap on memory was reached: what is missing.
  struct Dropped {
    int64_t files = 0;     // opens of files that got no record
    int64_t segments = 0;  // reads and writes that are counted, but have no segment
    bool posix = false, stdio = false, segments_partial = false;
  };
  Dropped dropped;
  // What the kernel says that the process read and wrote (rchar and wchar of /proc/self/io), and
  // what was seen on descriptors of no file above: pipes, sockets, paths that are left out. The
  // files' bytes of both modules and `elsewhere` make up the kernel's figure, but for what is not
  // seen and for what streams read ahead or have not written yet (check_bytes()). Absent: this
  // system does not say, or a log.
  struct Kernel {
    int64_t bytes_read = 0, bytes_written = 0;
    int64_t elsewhere_read = 0, elsewhere_written = 0;
  };
  std::optional<Kernel> kernel;
};

// a + b, or the nearest number that there is: counters of logs are what strangers say.
constexpr int64_t sum_of(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// A time that can be added and compared. It is 0 if `seconds` is not a number, or is more than
// 30,000 years.
inline double finite(double seconds) { return std::abs(seconds) < 1e12 ? seconds : 0; }

}  // namespace stoker
