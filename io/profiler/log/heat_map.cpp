#include "io/profiler/log/heat_map.h"

#include <algorithm>
#include <cmath>

#include "io/profiler/counters/sums.h"
#include "io/profiler/profile_summary.h"

namespace stoker {
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
