#include "io/profiler/profile_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "io/profiler/profile.h"

namespace stoker {
namespace {

using P = PosixCounters;
using S = StdioCounters;

// What both modules count.
template <class C>
void add_module(IoModuleSummary& sum, const C& file) {
  const auto& of = file.counters;
  ++sum.files;
  sum.opens = sum_of(sum.opens, of[C::OPENS]);
  sum.reads = sum_of(sum.reads, of[C::READS]);
  sum.writes = sum_of(sum.writes, of[C::WRITES]);
  sum.seeks = sum_of(sum.seeks, of[C::SEEKS]);
  sum.bytes_read = sum_of(sum.bytes_read, of[C::BYTES_READ]);
  sum.bytes_written = sum_of(sum.bytes_written, of[C::BYTES_WRITTEN]);
  sum.read_s += finite(file.times[C::READ_TIME]);
  sum.write_s += finite(file.times[C::WRITE_TIME]);
  sum.meta_s += finite(file.times[C::META_TIME]);
}

void add_sizes(SizeCounts& sum, const int64_t* counts) {
  for (int64_t& count : sum) count = sum_of(count, *counts++);
}

void add_posix(ProfileSummary& sum, const P& file) {
  const auto& of = file.counters;
  IoModuleSummary& posix = sum.posix;
  add_module(posix, file);
  posix.stats = sum_of(posix.stats, of[P::STATS]);
  posix.mmaps = sum_of(posix.mmaps, std::max<int64_t>(0, of[P::MMAPS]));  // -1: not looked at
  posix.syncs = sum_of(posix.syncs, sum_of(of[P::FSYNCS], of[P::FDSYNCS]));
  posix.renames = sum_of(posix.renames, std::max<int64_t>(0, of[P::RENAME_SOURCES]));  // likewise
  add_sizes(sum.read_sizes, &of[P::SIZE_READ_0_100]);
  add_sizes(sum.write_sizes, &of[P::SIZE_WRITE_0_100]);
  sum.sequential_reads = sum_of(sum.sequential_reads, of[P::SEQ_READS]);
  sum.consecutive_reads = sum_of(sum.consecutive_reads, of[P::CONSEC_READS]);
  sum.sequential_writes = sum_of(sum.sequential_writes, of[P::SEQ_WRITES]);
  sum.consecutive_writes = sum_of(sum.consecutive_writes, of[P::CONSEC_WRITES]);
  sum.read_write_switches = sum_of(sum.read_write_switches, of[P::RW_SWITCHES]);
  sum.memory_unaligned = sum_of(sum.memory_unaligned, of[P::MEM_NOT_ALIGNED]);
  sum.file_unaligned = sum_of(sum.file_unaligned, of[P::FILE_NOT_ALIGNED]);
}

// Four values from `first` on, and their counts behind them.
void add_common(std::map<int64_t, int64_t>& counts, const P& file, size_t first) {
  for (size_t i = first; i < first + 4; ++i) {
    if (file.counters[i + 4] <= 0) continue;
    int64_t& count = counts[file.counters[i]];
    count = sum_of(count, file.counters[i + 4]);
  }
}

std::vector<CommonValue> most_frequent_first(const std::map<int64_t, int64_t>& counts) {
  std::vector<CommonValue> all;
  all.reserve(counts.size());
  for (const auto& [value, count] : counts) all.push_back({value, count});
  std::sort(all.begin(), all.end(), [](const CommonValue& a, const CommonValue& b) {
    return a.count != b.count ? a.count > b.count : a.value > b.value;
  });
  return all;
}

// What the program itself writes into a run's directory: of interest only behind what it was run
// for.
bool is_own_file(std::string_view path) {
  constexpr std::string_view kNames[] = {
      "trace.json",   "steps.csv",    "timeline.csv",     "steps.jsonl", "metrics.prom",
      "targets.json", "summary.json", "environment.json", "config.yaml", "run.log"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         name.starts_with("events.out.tfevents.");
}

using Segments = std::vector<IoSegment> FileIo::*;

// How long at least one was under way.
double union_s(const IoProfile& profile, const std::array<Segments, 2>& lists) {
  std::vector<std::pair<double, double>> spans;
  for (const FileIo& file : profile.files) {
    for (const Segments list : lists) {
      for (const IoSegment& segment : file.*list) {
        spans.emplace_back(finite(segment.begin_s), finite(segment.end_s));
      }
    }
  }
  std::sort(spans.begin(), spans.end());
  double total = 0, covered = 0;
  for (const auto& [begin, end] : spans) {
    total += std::max(0., end - std::max(begin, covered));
    covered = std::max(covered, end);
  }
  return total;
}

// Below 0: single ones are missing, and the log does not say.
double under_way_s(const IoProfile& profile, const std::array<Segments, 2>& lists,
                   P::Counter of_posix, S::Counter of_stdio, double of_log) {
  const auto all = [](int64_t count, const std::vector<IoSegment>& segments) {
    return count == static_cast<int64_t>(segments.size());
  };
  const bool whole =
      !profile.dropped.segments_partial && std::ranges::all_of(profile.files, [&](auto& file) {
        return (!file.posix || all(file.posix->counters[of_posix], file.*lists[0])) &&
               (!file.stdio || all(file.stdio->counters[of_stdio], file.*lists[1]));
      });
  return whole ? union_s(profile, lists) : of_log;
}

double mb_per_s(int64_t bytes, double seconds) {
  return seconds > 0 ? 1e-6 * static_cast<double>(bytes) / seconds : 0;
}

// Spreads bytes that were moved from `begin` to `end` over the bins.
void spread(std::vector<BandwidthBin>& bins, double begin, double end, int64_t moved,
            double BandwidthBin::*bytes) {
  const double width = bins.back().end_s / static_cast<double>(bins.size());
  const auto bin_of = [&](double time) {
    return static_cast<size_t>(std::clamp(time / width, 0., static_cast<double>(bins.size() - 1)));
  };
  const double took = end - begin;
  const size_t first = bin_of(begin);
  const size_t last = bin_of(end);
  for (size_t i = first; i <= last; ++i) {
    const double from = i == first ? begin : bins[i].begin_s;
    const double to = i == last ? end : bins[i].end_s;
    const double share = first == last ? 1 : (to - from) / took;
    bins[i].*bytes += share * static_cast<double>(moved);
  }
}

void add_segments(std::vector<BandwidthBin>& bins, const IoProfile& profile, Segments list,
                  double BandwidthBin::*bytes) {
  for (const FileIo& file : profile.files) {
    for (const IoSegment& segment : file.*list) {
      const double begin = finite(segment.begin_s);
      spread(bins, begin, std::max(begin, finite(segment.end_s)), segment.bytes, bytes);
    }
  }
}

// The last bin of a heat map may reach beyond the profile's end.
void add_heat(std::vector<BandwidthBin>& bins, const HeatMaps& maps,
              std::vector<int64_t> HeatMap::*list, double BandwidthBin::*bytes) {
  for (const auto& [rank, map] : maps) {
    const double width = finite(map.bin_s), most = bins.back().end_s;
    const auto edge = [&](size_t bin) { return std::min(most, width * static_cast<double>(bin)); };
    for (size_t bin = 0; bin < (map.*list).size(); ++bin) {
      const int64_t moved = (map.*list)[bin];
      if (moved > 0) spread(bins, edge(bin), edge(bin + 1), moved, bytes);
    }
  }
}

bool has_segments(const IoProfile& profile, const std::array<Segments, 2>& lists) {
  return std::ranges::any_of(profile.files, [&](const FileIo& file) {
    return !(file.*lists[0]).empty() || !(file.*lists[1]).empty();
  });
}
constexpr std::array<Segments, 2> kOfPosix{&FileIo::reads, &FileIo::writes};
constexpr std::array<Segments, 2> kOfStdio{&FileIo::stream_reads, &FileIo::stream_writes};

}  // namespace

double profile_seconds(const IoProfile& profile) {
  // Not in floating point: a double knows the time since 1970 to 256 ns. But logs may lie.
  int64_t took = 0;
  if (__builtin_sub_overflow(profile.end_ns, profile.begin_ns, &took)) {
    return 1e-9 * (static_cast<double>(profile.end_ns) - static_cast<double>(profile.begin_ns));
  }
  return 1e-9 * static_cast<double>(took);
}

int64_t ProfileSummary::bytes_read() const { return sum_of(posix.bytes_read, stdio.bytes_read); }
int64_t ProfileSummary::bytes_written() const {
  return sum_of(posix.bytes_written, stdio.bytes_written);
}
double emulated_read_mb_per_s(const IoProfile::Emulated& of) {
  return mb_per_s(of.bytes_read, of.reading_s);
}
double emulated_write_mb_per_s(const IoProfile::Emulated& of) {
  return mb_per_s(of.bytes_written, of.writing_s);
}
double ProfileSummary::read_mb_per_s() const { return mb_per_s(bytes_read(), seconds); }
double ProfileSummary::write_mb_per_s() const { return mb_per_s(bytes_written(), seconds); }

int64_t file_bytes(const FileIo& file) {
  int64_t bytes = 0;
  const auto look_at = [&](int64_t moved, int64_t last_byte) {
    if (moved > 0 && last_byte >= 0) bytes = std::max(bytes, sum_of(last_byte, 1));
  };
  if (file.posix) {
    const auto& of = file.posix->counters;
    look_at(of[P::BYTES_READ], of[P::MAX_BYTE_READ]);
    look_at(of[P::BYTES_WRITTEN], of[P::MAX_BYTE_WRITTEN]);
  }
  if (file.stdio) {
    const auto& of = file.stdio->counters;
    look_at(of[S::BYTES_READ], of[S::MAX_BYTE_READ]);
    look_at(of[S::BYTES_WRITTEN], of[S::MAX_BYTE_WRITTEN]);
  }
  return bytes;
}

ProfileSummary summarize(const IoProfile& profile) {
  ProfileSummary sum;
  sum.seconds = profile_seconds(profile);
  std::map<int64_t, int64_t> sizes, strides;
  for (const FileIo& file : profile.files) {
    if (file.posix) {
      add_posix(sum, *file.posix);
      add_common(sizes, *file.posix, P::ACCESS1_ACCESS);
      add_common(strides, *file.posix, P::STRIDE1_STRIDE);
    }
    if (file.stdio) {
      add_module(sum.stdio, *file.stdio);
      sum.stdio.flushes = sum_of(sum.stdio.flushes, file.stdio->counters[S::FLUSHES]);
    }
    if (const int64_t bytes = file_bytes(file); bytes > 0) ++sum.file_sizes[size_bucket(bytes)];
  }
  sum.access_sizes = most_frequent_first(sizes);
  sum.strides = most_frequent_first(strides);
  if (const auto& sizes = profile.stream_sizes) {
    add_sizes(sum.read_sizes, sizes->reads.data());
    add_sizes(sum.write_sizes, sizes->writes.data());
  }
  sum.reading_s = under_way_s(profile, {&FileIo::reads, &FileIo::stream_reads}, P::READS, S::READS,
                              profile.under_way.reading_s);
  sum.writing_s = under_way_s(profile, {&FileIo::writes, &FileIo::stream_writes}, P::WRITES,
                              S::WRITES, profile.under_way.writing_s);
  for (const IoProfile::Emulated& of : profile.emulated) {
    if (sum.reading_s >= 0) sum.reading_s = std::max(sum.reading_s, finite(of.reading_s));
    if (sum.writing_s >= 0) sum.writing_s = std::max(sum.writing_s, finite(of.writing_s));
  }
  return sum;
}

std::vector<FileRow> file_rows(const IoProfile& profile) {
  std::vector<FileRow> rows;
  for (const FileIo& file : profile.files) {
    IoModuleSummary both;
    if (file.posix) add_module(both, *file.posix);
    if (file.stdio) add_module(both, *file.stdio);
    rows.push_back({&file, both.opens, both.reads, both.writes, both.bytes_read, both.bytes_written,
                    file_bytes(file), both.read_s, both.write_s, both.meta_s});
  }
  std::sort(rows.begin(), rows.end(), [](const FileRow& a, const FileRow& b) {
    const bool own_a = is_own_file(a.file->path), own_b = is_own_file(b.file->path);
    if (own_a != own_b) return own_b;
    return a.seconds() != b.seconds() ? a.seconds() > b.seconds() : a.file->path < b.file->path;
  });
  return rows;
}

std::vector<DirectoryRow> directory_rows(const IoProfile& profile) {
  std::map<std::string_view, DirectoryRow> directories;
  for (const FileRow& file : file_rows(profile)) {
    const std::string_view path = file.file->path;
    const size_t slash = path.rfind('/');
    const std::string_view name =
        slash == std::string_view::npos ? path : path.substr(0, std::max<size_t>(1, slash));
    DirectoryRow& row = directories[name];
    row.path = name;
    ++row.files;
    row.bytes_read = sum_of(row.bytes_read, file.bytes_read);
    row.bytes_written = sum_of(row.bytes_written, file.bytes_written);
    row.seconds += file.seconds();
  }
  std::vector<DirectoryRow> rows;
  rows.reserve(directories.size());
  for (auto& [name, row] : directories) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(), [](const DirectoryRow& a, const DirectoryRow& b) {
    return sum_of(a.bytes_read, a.bytes_written) > sum_of(b.bytes_read, b.bytes_written);
  });
  return rows;
}

std::vector<BandwidthBin> bandwidth_over_time(const IoProfile& profile, size_t bins) {
  const double seconds = profile_seconds(profile);
  const bool posix = has_segments(profile, kOfPosix), stdio = has_segments(profile, kOfStdio);
  const bool any = posix || stdio || !profile.posix_heat.empty() || !profile.stdio_heat.empty();
  if (!any || !(seconds > 0) || bins == 0) return {};
  std::vector<BandwidthBin> all(bins);
  for (size_t i = 0; i < bins; ++i) {
    all[i].begin_s = seconds * static_cast<double>(i) / static_cast<double>(bins);
    all[i].end_s = seconds * static_cast<double>(i + 1) / static_cast<double>(bins);
  }
  const auto add = [&](const std::array<Segments, 2>& lists, bool segments, const HeatMaps& heat) {
    if (segments) {
      add_segments(all, profile, lists[0], &BandwidthBin::read_bytes);
      add_segments(all, profile, lists[1], &BandwidthBin::written_bytes);
    } else {
      add_heat(all, heat, &HeatMap::read, &BandwidthBin::read_bytes);
      add_heat(all, heat, &HeatMap::written, &BandwidthBin::written_bytes);
    }
  };
  add(kOfPosix, posix, profile.posix_heat);
  add(kOfStdio, stdio, profile.stdio_heat);
  return all;
}

bool course_lacks_streams(const IoProfile& profile) {
  const auto moves = [](const FileIo& file) {
    return file.stdio &&
           (file.stdio->counters[S::BYTES_READ] > 0 || file.stdio->counters[S::BYTES_WRITTEN] > 0);
  };
  return !has_segments(profile, kOfStdio) && profile.stdio_heat.empty() &&
         std::ranges::any_of(profile.files, moves);
}

std::optional<ByteCheck> check_bytes(const IoProfile& profile) {
  if (!profile.kernel) return std::nullopt;
  const ProfileSummary sum = summarize(profile);
  const IoProfile::Kernel& kernel = *profile.kernel;
  return ByteCheck{sum_of(sum.bytes_read(), kernel.elsewhere_read), kernel.bytes_read,
                   sum_of(sum.bytes_written(), kernel.elsewhere_written), kernel.bytes_written};
}

namespace {

#define STOKER_POSIX_NAME(name) "POSIX_" #name,
#define STOKER_POSIX_TIME_NAME(name, in_logs) "POSIX_F_" #in_logs,
#define STOKER_STDIO_NAME(name) "STDIO_" #name,
#define STOKER_STDIO_TIME_NAME(name, in_logs) "STDIO_F_" #in_logs,
constexpr const char* kPosixCounters[] = {STOKER_POSIX_COUNTERS(STOKER_POSIX_NAME)};
constexpr const char* kPosixTimes[] = {STOKER_POSIX_TIMES(STOKER_POSIX_TIME_NAME)};
constexpr const char* kStdioCounters[] = {STOKER_STDIO_COUNTERS(STOKER_STDIO_NAME)};
constexpr const char* kStdioTimes[] = {STOKER_STDIO_TIMES(STOKER_STDIO_TIME_NAME)};
#undef STOKER_POSIX_NAME
#undef STOKER_POSIX_TIME_NAME
#undef STOKER_STDIO_NAME
#undef STOKER_STDIO_TIME_NAME

}  // namespace

std::span<const char* const> posix_counter_names() { return kPosixCounters; }
std::span<const char* const> posix_time_names() { return kPosixTimes; }
std::span<const char* const> stdio_counter_names() { return kStdioCounters; }
std::span<const char* const> stdio_time_names() { return kStdioTimes; }

}  // namespace stoker
