#include "io/profiler/log/log_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "io/profiler/log/log_region.h"

namespace stoker {
namespace {

constexpr size_t kMostName = 64 << 10;
constexpr int64_t kUnknown = -1;

double time_of(uint64_t word) {
  const auto value = std::bit_cast<double>(word);
  return std::isfinite(value) ? value : 0;
}

// What an older version of a module does not have, or has beside.
struct Layout {
  std::span<const size_t> counters, times;  // missing
  bool streams = false;                     // kStreamCalls are there
};

// In version 1 of POSIX: FOPENS, FREADS, FWRITES and FSEEKS.
constexpr size_t kStreamCalls = 4;
constexpr size_t kCallsBefore = 6;  // OPENS, READS, WRITES, SEEKS, STATS, MMAPS

// A record's counters: id and rank, whole numbers, and times.
template <class Counters>
class CounterRecord {
 public:
  explicit CounterRecord(Layout layout)
      : layout_(layout),
        words_(2 + counters_.counters.size() - layout.counters.size() +
               (layout.streams ? kStreamCalls : 0) + counters_.times.size() - layout.times.size()) {
  }

  bool read(LogRegion& region) {
    if (!region.read(words_)) return false;
    std::span<const uint64_t> words(words_);
    words = words.subspan(2);
    if (layout_.streams) words = with_streams();
    const auto take = [&](std::span<const size_t> missing, auto& values, auto value_of) {
      size_t word = 0;
      for (size_t at = 0; at < values.size(); ++at) {
        const bool absent = std::ranges::count(missing, at) > 0;
        values[at] = absent ? kUnknown : value_of(words[word++]);
      }
      words = words.subspan(word);
    };
    take(layout_.counters, counters_.counters, [](uint64_t w) { return static_cast<int64_t>(w); });
    take(layout_.times, counters_.times, time_of);
    return true;
  }
  uint64_t id() const { return words_[0]; }
  int64_t rank() const { return static_cast<int64_t>(words_[1]); }
  Counters& counters() { return counters_; }

 private:
  // The counters with calls of both kinds as one, as their bytes, sizes and times are.
  std::span<const uint64_t> with_streams() {
    const auto calls = words_.begin() + 2, streams = calls + kCallsBefore;
    for (size_t kind = 0; kind < kStreamCalls; ++kind) calls[kind] += streams[kind];
    std::copy_backward(calls, streams, streams + kStreamCalls);
    return std::span(words_).subspan(2 + kStreamCalls);
  }

  const Layout layout_;
  Counters counters_;
  std::vector<uint64_t> words_;
};

constexpr std::array<size_t, 5> kSincePosix4 = {
    PosixCounters::FILENOS, PosixCounters::DUPS, PosixCounters::RENAME_SOURCES,
    PosixCounters::RENAME_TARGETS, PosixCounters::RENAMED_FROM};
constexpr std::array<size_t, 2> kSincePosix3 = {PosixCounters::CLOSE_START,
                                                PosixCounters::OPEN_END};
constexpr std::array<size_t, 1> kSinceStdio2 = {StdioCounters::FDOPENS};

// words: offset, length, begin, end, and from version 2 on a thread.
IoSegment segment_of(LogRegion& region, std::span<const uint64_t> words) {
  constexpr double kLongest = 1e9;
  const IoSegment segment{static_cast<int64_t>(words[0]), static_cast<int64_t>(words[1]),
                          time_of(words[2]), time_of(words[3])};
  if (segment.bytes < 0 || std::abs(segment.begin_s) > kLongest ||
      std::abs(segment.end_s) > kLongest) {
    region.fail(fmt::format("a segment of {} bytes from {} s to {} s", segment.bytes,
                            segment.begin_s, segment.end_s));
  }
  return segment;
}

}  // namespace

void LogRecords::spend(LogRegion& region, uint64_t bytes) {
  if (bytes > memory_left_) region.fail("too large: what it holds would not fit into memory");
  memory_left_ -= bytes;
}

FileIo& LogRecords::file(LogRegion& region, uint64_t id, int64_t rank) {
  const auto [at, is_new] = files_.try_emplace({id, rank}, profile_.files.size());
  if (is_new) {
    const auto name = names_.find(id);
    FileIo file;
    file.id = id;
    file.rank = rank;
    if (name != names_.end()) file.path = name->second;
    spend(region, sizeof file + sizeof *at + file.path.size());
    profile_.files.push_back(std::move(file));
  }
  return profile_.files[at->second];
}

void LogRecords::add_names(LogRegion& region, bool counted) {
  uint64_t id;
  while (region.read(std::span(&id, 1))) {
    std::string name = counted ? region.read_counted_text(kMostName) : region.read_text(kMostName);
    spend(region, name.size() + sizeof *names_.begin());
    names_.try_emplace(id, std::move(name));
  }
}

void LogRecords::add_posix(LogRegion& region, uint32_t version) {
  Layout layout;
  if (version < 4) layout.counters = kSincePosix4;
  if (version < 3) layout.times = kSincePosix3;
  layout.streams = version < 2;
  CounterRecord<PosixCounters> record(layout);
  while (record.read(region)) {
    if (version < 4) record.counters().counters[PosixCounters::RENAMED_FROM] = 0;  // an id
    file(region, record.id(), record.rank()).posix = record.counters();
  }
}

void LogRecords::add_stdio(LogRegion& region, uint32_t version) {
  Layout layout;
  if (version < 2) layout.counters = kSinceStdio2;
  CounterRecord<StdioCounters> record(layout);
  while (record.read(region)) {
    file(region, record.id(), record.rank()).stdio = record.counters();
  }
}

void LogRecords::add_segments(LogRegion& region, uint32_t version) {
  std::array<uint64_t, 3> begin;  // id, rank, whether it is shared
  std::array<uint64_t, 2> counts;
  std::vector<uint64_t> words(version < 2 ? 4 : 5);
  std::array<uint8_t, DarshanFormat::kHostBytes> host;
  const auto whole = [&](auto&& part) {
    if (!region.read(part)) region.fail("it ends in the middle of a record");
  };
  while (region.read(std::span<uint64_t>(begin))) {
    whole(std::span<uint8_t>(host));
    whole(std::span<uint64_t>(counts));
    if (profile_.host.empty()) {
      profile_.host.assign(host.begin(), std::ranges::find(host, uint8_t{0}));
    }
    FileIo& of = file(region, begin[0], static_cast<int64_t>(begin[1]));
    for (const auto& [count, segments] :
         {std::pair(counts[0], &of.writes), {counts[1], &of.reads}}) {
      // A count may be made up: each segment has to be there before it gets memory.
      for (uint64_t i = 0; i < count; ++i) {
        whole(std::span<uint64_t>(words));
        spend(region, sizeof(IoSegment));
        segments->push_back(segment_of(region, words));
      }
    }
  }
}

void LogRecords::add_heat_maps(LogRegion& region, uint32_t /*version*/) {
  struct Begin {
    uint64_t id, rank, width, bins, pointers[2];  // pointers: where Darshan had them in memory
  };
  std::array<uint64_t, sizeof(Begin) / 8> words;
  while (region.read(std::span<uint64_t>(words))) {
    const auto begin = std::bit_cast<Begin>(words);
    HeatMap map;
    map.bin_s = time_of(begin.width);
    if (!(map.bin_s > 0)) {
      region.fail(fmt::format("a heat map whose bins have a width of {} s", map.bin_s));
    }
    // A count may be made up: each bin has to be there before it gets memory.
    for (std::vector<int64_t>* const bins : {&map.written, &map.read}) {
      for (uint64_t i = 0; i < begin.bins; ++i) {
        uint64_t bytes;
        if (!region.read(std::span(&bytes, 1))) region.fail("it ends in the middle of a record");
        spend(region, sizeof bytes);
        bins->push_back(std::max<int64_t>(0, static_cast<int64_t>(bytes)));
      }
    }
    const auto rank = static_cast<int64_t>(begin.rank);
    if (begin.id == DarshanFormat::kPosixHeatMap) {
      profile_.posix_heat[rank] = std::move(map);
    } else if (begin.id == DarshanFormat::kStdioHeatMap) {
      profile_.stdio_heat[rank] = std::move(map);
    }
  }
}

}  // namespace stoker
