#include "io/profiler/log/darshan_log.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <unordered_set>

#include "io/core/system/file.h"
#include "io/core/text/text.h"
#include "io/profiler/log/log_region.h"
#include "io/profiler/profile.h"
#include "io/profiler/profile_summary.h"

namespace stoker {
namespace {

using Format = DarshanFormat;

// A zlib stream at the end of `log`.
class PackedPart {
 public:
  explicit PackedPart(std::string& log) : log_(log), begin_(log.size()) {
    if (::deflateInit(&stream_, Z_BEST_SPEED) != Z_OK) throw std::bad_alloc();
  }
  ~PackedPart() { ::deflateEnd(&stream_); }
  PackedPart(const PackedPart&) = delete;
  PackedPart& operator=(const PackedPart&) = delete;

  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPiece - pending_.size());
      pending_ += piece;
      bytes.remove_prefix(piece.size());
      if (pending_.size() == kPiece) pack(Z_NO_FLUSH);
    }
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void add_value(const T& value) { add({reinterpret_cast<const char*>(&value), sizeof value}); }
  template <class T>
  void add_values(std::span<const T> values) {
    add({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  Format::Place finish() {
    pack(Z_FINISH);
    return {begin_, log_.size() - begin_};
  }

 private:
  void pack(int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(pending_.data());
    stream_.avail_in = static_cast<uInt>(pending_.size());
    char packed[kPiece];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed);
      stream_.avail_out = sizeof packed;
      ::deflate(&stream_, flush);
      log_.append(packed, sizeof packed - stream_.avail_out);
    } while (stream_.avail_out == 0);
    pending_.clear();
  }

  static constexpr size_t kPiece = 64 << 10;
  std::string& log_;
  const size_t begin_;
  std::string pending_;
  z_stream stream_{};
};

// At most `most` bytes of the text, and no part of a character, because readers take it for UTF-8.
std::string first_bytes(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text;
}

// Without what ends a line or a text.
std::string one_line(const std::string& text) {
  std::string line = readable(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\0'; }, ' ');
  return line;
}

// Lines that have no place elsewhere. One that does not fit is left out: half a number is another.
std::string metadata_of(const IoProfile& profile) {
  std::string text = "lib_ver=3.5.0 (stoker)\n";
  const auto add = [&](const std::string& line) {
    if (text.size() + line.size() < Format::kMetadataBytes) text += line + '\n';
  };
  if (!profile.host.empty()) {
    add(fmt::format("stoker_host={}", first_bytes(one_line(profile.host), 256)));
  }
  if (const auto& steps = profile.steps) {
    add(fmt::format("stoker_steps={} {}", steps->first, steps->last));
  }
  if (profile.dropped.files > 0) {
    add(fmt::format("stoker_dropped_files={}", profile.dropped.files));
  }
  if (profile.dropped.segments > 0) {
    add(fmt::format("stoker_dropped_segments={}", profile.dropped.segments));
  }
  if (const auto& kernel = profile.kernel) {
    add(fmt::format("stoker_kernel_bytes={} {} {} {}", kernel->bytes_read, kernel->bytes_written,
                    kernel->elsewhere_read, kernel->elsewhere_written));
  }
  const ProfileSummary summary = summarize(profile);
  if (summary.reading_s >= 0 || summary.writing_s >= 0) {
    add(fmt::format("stoker_under_way={:.6f} {:.6f}", summary.reading_s, summary.writing_s));
  }
  if (const auto& sizes = profile.stream_sizes) {
    add(fmt::format("stoker_stream_sizes={} {}", fmt::join(sizes->reads, " "),
                    fmt::join(sizes->writes, " ")));
  }
  if (!profile.emulated.empty()) {
    std::string tiers;
    for (const IoProfile::Emulated& of : profile.emulated) {
      tiers += fmt::format("{:.6f} {:.6f} {:.6f} {} {} {} {:.6f} {:.6f};", of.read_s, of.write_s,
                           of.meta_s, of.tier, of.bytes_read, of.bytes_written, of.reading_s,
                           of.writing_s);
    }
    add("stoker_emulated=" + tiers);
  }
  text.resize(Format::kMetadataBytes);
  return text;
}

// The command, and below it as many mounts as there is room for.
std::string command_of(const IoProfile& profile, size_t room) {
  // Without any mount, Darshan's tools do not see the command.
  constexpr std::string_view kNoMount = "\nunknown\t/";
  std::string text = first_bytes(one_line(profile.command), room - kNoMount.size() - 1);
  const size_t command = text.size();
  for (const IoProfile::Mount& mount : profile.mounts) {
    const std::string line = fmt::format("\n{}\t{}", readable(mount.type), readable(mount.path));
    // They take white space for the end of a name.
    const auto is_word = [](const std::string& name) {
      return !name.empty() && name.find_first_of(std::string_view(" \t\n\v\f\r\0", 7)) == name.npos;
    };
    if (!is_word(mount.type) || !is_word(mount.path)) continue;
    if (text.size() + line.size() < room) text += line;
  }
  if (text.size() == command) text += kNoMount;
  return text + '\0';
}

void add_job(const IoProfile& profile, PackedPart& part) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t fixed[] = {profile.uid,
                           profile.begin_ns / kSecond,
                           profile.begin_ns % kSecond,
                           profile.end_ns / kSecond,
                           profile.end_ns % kSecond,
                           profile.ranks,
                           profile.job_id};
  part.add_values(std::span<const int64_t>(fixed));
  part.add(metadata_of(profile));
  part.add(command_of(profile, Format::kJobBytes - sizeof fixed - Format::kMetadataBytes));
}

void add_names(const IoProfile& profile, PackedPart& part) {
  std::unordered_set<uint64_t> named;
  for (const FileIo& file : profile.files) {
    if (file.path.empty() || !named.insert(file.id).second) continue;
    part.add_value(file.id);
    part.add(readable(file.path));
    part.add(std::string_view("", 1));
  }
}

template <class Counters>
void add_counters(const FileIo& file, const Counters& counters, PackedPart& part) {
  part.add_value(file.id);
  part.add_value(file.rank);
  part.add_values(std::span<const int64_t>(counters.counters));
  part.add_values(std::span<const double>(counters.times));
}

bool has_segments(const FileIo& file) { return !file.reads.empty() || !file.writes.empty(); }

void add_segments(const IoProfile& profile, PackedPart& part) {
  const std::string host = first_bytes(readable(profile.host), Format::kHostBytes - 1);
  char padded[Format::kHostBytes] = {};
  std::ranges::copy(host, padded);
  for (const FileIo& file : profile.files) {
    if (!has_segments(file)) continue;
    const bool shared = file.rank < 0;
    part.add_value(file.id);
    part.add_value(file.rank);
    part.add_value(int64_t{shared ? -1 : 0});
    part.add({padded, sizeof padded});
    part.add_value(static_cast<int64_t>(file.writes.size()));
    part.add_value(static_cast<int64_t>(file.reads.size()));
    part.add_values(std::span<const IoSegment>(file.writes));
    part.add_values(std::span<const IoSegment>(file.reads));
  }
}
static_assert(sizeof(IoSegment) == 32 && std::is_trivially_copyable_v<IoSegment>);

void add_heat_maps(uint64_t id, const HeatMaps& maps, PackedPart& part) {
  for (const auto& [rank, map] : maps) {
    part.add_value(id);
    part.add_value(rank);
    part.add_value(map.bin_s);
    part.add_value(static_cast<int64_t>(map.read.size()));
    part.add(std::string(16, '\0'));  // pointers, where Darshan has them in memory
    part.add_values(std::span<const int64_t>(map.written));
    part.add_values(std::span<const int64_t>(map.read));
  }
}

template <class Add>
Format::Place packed(std::string& log, const Add& add) {
  PackedPart part(log);
  add(part);
  return part.finish();
}

}  // namespace

std::string darshan_log(const IoProfile& profile) {
  Format::Header header;
  std::string log(sizeof header, '\0');
  packed(log, [&](PackedPart& part) { add_job(profile, part); });
  header.names = packed(log, [&](PackedPart& part) { add_names(profile, part); });
  const auto module = [&](Format::Module id, uint32_t version, bool partial, bool used,
                          auto&& records) {
    header.versions[id] = version;
    if (partial) header.partial |= uint64_t{1} << id;
    if (used) header.modules[id] = packed(log, records);
  };
  const auto any = [&](auto&& used) { return std::ranges::any_of(profile.files, used); };
  const IoProfile::Dropped& dropped = profile.dropped;
  module(Format::kPosix, 4, dropped.posix, any([](auto& file) { return file.posix.has_value(); }),
         [&](PackedPart& part) {
           for (const FileIo& file : profile.files) {
             if (file.posix) add_counters(file, *file.posix, part);
           }
         });
  module(Format::kStdio, 2, dropped.stdio, any([](auto& file) { return file.stdio.has_value(); }),
         [&](PackedPart& part) {
           for (const FileIo& file : profile.files) {
             if (file.stdio) add_counters(file, *file.stdio, part);
           }
         });
  module(Format::kDxtPosix, 1, dropped.segments_partial, any(has_segments),
         [&](PackedPart& part) { add_segments(profile, part); });
  const HeatMaps posix_heat = posix_heat_maps(profile), stdio_heat = stdio_heat_maps(profile);
  module(Format::kHeatMap, 1, dropped.segments_partial, !posix_heat.empty() || !stdio_heat.empty(),
         [&](PackedPart& part) {
           add_heat_maps(Format::kPosixHeatMap, posix_heat, part);
           add_heat_maps(Format::kStdioHeatMap, stdio_heat, part);
         });
  std::memcpy(log.data(), &header, sizeof header);
  return log;
}

void write_darshan_log(const IoProfile& profile, const std::string& path) {
  const std::string log = darshan_log(profile);
  atomic_write_file(path, {reinterpret_cast<const uint8_t*>(log.data()), log.size()},
                    AtomicFile::Parents::needed);
}

namespace {

constexpr size_t kMostBins = 200;

double last_end(const IoProfile& profile) {
  double end = profile_seconds(profile);
  for (const FileIo& file : profile.files) {
    for (const auto* list : {&file.reads, &file.writes, &file.stream_reads, &file.stream_writes}) {
      for (const IoSegment& segment : *list) end = std::max(end, segment.end_s);
    }
  }
  return end;
}

// What is left of a bin's edge is rounded once, so that the bins of a segment add up to it.
void spread(const IoSegment& segment, double width, std::vector<int64_t>& bins) {
  const auto bin_of = [&](double time) {
    return std::min(bins.size() - 1, static_cast<size_t>(std::max(0.0, time) / width));
  };
  const size_t last = bin_of(segment.end_s);
  const double took = segment.end_s - segment.begin_s;
  int64_t before = 0;
  for (size_t bin = std::min(last, bin_of(segment.begin_s)); bin <= last; ++bin) {
    const double edge = static_cast<double>(bin + 1) * width;
    int64_t until = segment.bytes;
    if (bin < last && took > 0) {
      const double share = std::clamp((edge - segment.begin_s) / took, 0.0, 1.0);
      if (share < 1) until = static_cast<int64_t>(share * static_cast<double>(segment.bytes));
    }
    bins[bin] = sum_of(bins[bin], until - before);
    before = until;
  }
}

using Segments = std::vector<IoSegment> FileIo::*;

HeatMaps of_segments(const IoProfile& profile, Segments reads, Segments writes) {
  HeatMap empty;
  const double end = last_end(profile);
  while (end > empty.bin_s * kMostBins) empty.bin_s *= 2;
  const auto bins = static_cast<size_t>(std::max(1.0, std::ceil(end / empty.bin_s)));
  empty.read.resize(bins);
  empty.written.resize(bins);
  HeatMaps maps;
  for (const FileIo& file : profile.files) {
    if ((file.*reads).empty() && (file.*writes).empty()) continue;
    HeatMap& map = maps.try_emplace(file.rank, empty).first->second;
    for (const IoSegment& segment : file.*reads) spread(segment, map.bin_s, map.read);
    for (const IoSegment& segment : file.*writes) spread(segment, map.bin_s, map.written);
  }
  return maps;
}

}  // namespace

HeatMaps posix_heat_maps(const IoProfile& profile) {
  HeatMaps maps = of_segments(profile, &FileIo::reads, &FileIo::writes);
  return maps.empty() ? profile.posix_heat : maps;
}

HeatMaps stdio_heat_maps(const IoProfile& profile) {
  HeatMaps maps = of_segments(profile, &FileIo::stream_reads, &FileIo::stream_writes);
  return maps.empty() ? profile.stdio_heat : maps;
}

}  // namespace stoker
