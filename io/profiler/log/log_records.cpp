#include "io/profiler/log/log_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "io/profiler/log/log_format.h"

namespace stoker {
namespace {

constexpr size_t kMostName = 64 << 10;
constexpr int64_t kUnknown = -1;

double time_of(uint64_t word) {
  const auto value = std::bit_cast<double>(word);
  return std::isfinite(value) ? value : 0;
}

// A record's counters: id and rank, whole numbers but for those `missing`, and times.
template <class Counters>
class CounterRecord {
 public:
  explicit CounterRecord(std::span<const size_t> missing)
      : missing_(missing),
        words_(2 + counters_.counters.size() - missing.size() + counters_.times.size()) {}

  bool read(LogRegion& region) {
    if (!region.read(words_)) return false;
    size_t word = 2;
    for (size_t at = 0; at < counters_.counters.size(); ++at) {
      const bool absent = std::ranges::count(missing_, at) > 0;
      counters_.counters[at] = absent ? kUnknown : static_cast<int64_t>(words_[word++]);
    }
    for (double& time : counters_.times) time = time_of(words_[word++]);
    return true;
  }
  uint64_t id() const { return words_[0]; }
  int64_t rank() const { return static_cast<int64_t>(words_[1]); }
  Counters& counters() { return counters_; }

 private:
  const std::span<const size_t> missing_;
  Counters counters_;
  std::vector<uint64_t> words_;
};

constexpr std::array<size_t, 5> kSincePosix4 = {
    PosixCounters::FILENOS, PosixCounters::DUPS, PosixCounters::RENAME_SOURCES,
    PosixCounters::RENAME_TARGETS, PosixCounters::RENAMED_FROM};
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

void LogRecords::add_names(LogRegion& region) {
  uint64_t id;
  while (region.read(std::span(&id, 1))) {
    std::string name = region.read_text(kMostName);
    spend(region, name.size() + sizeof *names_.begin());
    names_.try_emplace(id, std::move(name));
  }
}

void LogRecords::add_posix(LogRegion& region, uint32_t version) {
  CounterRecord<PosixCounters> record(version < 4 ? std::span<const size_t>(kSincePosix4)
                                                  : std::span<const size_t>());
  while (record.read(region)) {
    if (version < 4) record.counters().counters[PosixCounters::RENAMED_FROM] = 0;  // an id
    file(region, record.id(), record.rank()).posix = record.counters();
  }
}

void LogRecords::add_stdio(LogRegion& region, uint32_t version) {
  CounterRecord<StdioCounters> record(version < 2 ? std::span<const size_t>(kSinceStdio2)
                                                  : std::span<const size_t>());
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

}  // namespace stoker
