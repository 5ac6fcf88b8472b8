#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics/tier_meter.h"
#include "io/profiler/profile.h"

namespace stoker {

// What views show of a profile: sums over its files, and the lists made of it. Values and pure
// functions; any thread.

// The buckets of Darshan's histograms, by kSizeBounds: "0-100", "100-1K", ... "1G+".
inline constexpr std::array<const char*, kSizeBounds.size() + 1> kSizeNames{
    "0-100", "100-1K", "1K-10K",   "10K-100K", "100K-1M",
    "1M-4M", "4M-10M", "10M-100M", "100M-1G",  "1G+"};

// The sums of one module. STDIO has fewer counters; the others are 0.
struct IoModuleSummary {
  int64_t files = 0;
  int64_t opens = 0, reads = 0, writes = 0, seeks = 0, stats = 0, mmaps = 0, syncs = 0, renames = 0,
          flushes = 0;
  int64_t bytes_read = 0, bytes_written = 0;
  // Over all files; those of several threads at once, and so of several files, add up.
  double read_s = 0, write_s = 0, meta_s = 0;
};

struct CommonValue {
  int64_t value = 0;
  int64_t count = 0;
  bool operator==(const CommonValue&) const = default;
};

struct ProfileSummary {
  double seconds = 0;  // of the profile
  IoModuleSummary posix, stdio;
  // Of requests of both modules; those of streams only where the profile has them
  // (IoProfile::stream_sizes).
  SizeCounts read_sizes{}, write_sizes{};
  // Of POSIX alone, as all below but for the sizes of files: Darshan has no such counters of
  // streams.
  int64_t sequential_reads = 0, consecutive_reads = 0;
  int64_t sequential_writes = 0, consecutive_writes = 0;
  int64_t read_write_switches = 0;
  int64_t memory_unaligned = 0, file_unaligned = 0;
  // Summed over the four that each file has, so what is common in few files may be missing. Most
  // frequent first; among equals, the larger.
  std::vector<CommonValue> access_sizes, strides;
  // Sizes of the files that were read or written, by file_bytes().
  SizeCounts file_sizes{};
  // For how long at least one read (write) of either module was under way, from the segments, or as
  // the log says. Below 0: there are no segments, or some are missing. Not less than on an emulated
  // tier, whose calls end before its callers have waited as long as its model says.
  double reading_s = -1, writing_s = -1;

  // Of both modules. A byte is in one of them: what the C library does below a stream is no call
  // that POSIX sees.
  int64_t bytes_read() const;
  int64_t bytes_written() const;
  // From them and the profile's time; 0 if it took no time.
  double read_mb_per_s() const;
  double write_mb_per_s() const;
};

ProfileSummary summarize(const IoProfile& profile);
// The bandwidth that an emulated tier gave while it was read (written); 0 if it was not.
double emulated_read_mb_per_s(const IoProfile::Emulated& of);
double emulated_write_mb_per_s(const IoProfile::Emulated& of);
// How long the profile is; below 0 where a log says so.
double profile_seconds(const IoProfile& profile);

// How large a file is as far as it was read or written, in both modules: its last byte, counted
// from 1. 0: no byte was moved.
int64_t file_bytes(const FileIo& file);

// A row of the table of files.
struct FileRow {
  const FileIo* file;  // of the profile
  // Of both modules.
  int64_t opens = 0, reads = 0, writes = 0;
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t bytes = 0;  // file_bytes()
  // Likewise.
  double read_s = 0, write_s = 0, meta_s = 0;
  double seconds() const { return read_s + write_s + meta_s; }
};
// The one with the most time first; among equals by path.
std::vector<FileRow> file_rows(const IoProfile& profile);

// Bytes by directory: that which the file lies in.
struct DirectoryRow {
  std::string path;
  int64_t files = 0, bytes_read = 0, bytes_written = 0;
  double seconds = 0;
};
// The one with the most bytes first; among equals by path.
std::vector<DirectoryRow> directory_rows(const IoProfile& profile);

// Bytes of both modules by time. Of each module from its segments, each one's bytes spread evenly
// over its time; without segments from the log's heat map. `bins` parts of the profile's time, at
// least 1. Empty: the profile has neither.
struct BandwidthBin {
  double begin_s = 0, end_s = 0;
  double read_bytes = 0, written_bytes = 0;
};
std::vector<BandwidthBin> bandwidth_over_time(const IoProfile& profile, size_t bins);
// Whether streams moved bytes that are in no such course.
bool course_lacks_streams(const IoProfile& profile);

// What was seen, on files and elsewhere, beside the kernel's count.
struct ByteCheck {
  int64_t seen_read = 0, kernel_read = 0;
  int64_t seen_written = 0, kernel_written = 0;
  int64_t read_difference() const { return kernel_read - seen_read; }
  int64_t written_difference() const { return kernel_written - seen_written; }
};
// Absent: the profile has no count of the kernel's.
std::optional<ByteCheck> check_bytes(const IoProfile& profile);

}  // namespace stoker
