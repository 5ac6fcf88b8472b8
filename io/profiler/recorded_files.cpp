#include "io/profiler/recorded_files.h"

#include <string>
#include <utility>

namespace stoker {
namespace {

void add_sizes(SizeCounts& sum, const SizeCounts& sizes) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += sizes[i];
}

std::vector<IoSegment> all_of(const SegmentList& list, const RecordedMemory& memory) {
  std::vector<IoSegment> all;
  list.each([&](const IoSegment& segment) { all.push_back(segment); },
            [&](const auto* block) { return memory.here(block); });
  return all;
}

}  // namespace

void add_recorded_file(const FileRecord& file, bool with_segments, const RecordedMemory& memory,
                       IoProfile& profile) {
  const PosixRecord* const posix = memory.here(file.posix);
  const StdioRecord* const stdio = memory.here(file.stdio);
  if (posix == nullptr && stdio == nullptr) return;
  FileIo& out = profile.files.emplace_back();
  out.id = file.id;
  const char* const name = memory.here(file.name.data(), file.name.size());
  if (name != nullptr) out.path = std::string(name, file.name.size());
  if (posix != nullptr) {
    const auto here = [&](const auto* values, size_t count) { return memory.here(values, count); };
    PosixRecord record = *posix;
    record.sizes = posix->sizes.seen_from(here);
    record.strides = posix->strides.seen_from(here);
    out.posix = counters_of(record);
  }
  if (stdio != nullptr) {
    out.stdio = stdio->counters;
    RequestSizes sizes = profile.stream_sizes.value_or(RequestSizes{});
    add_sizes(sizes.reads, stdio->read_sizes);
    add_sizes(sizes.writes, stdio->write_sizes);
    profile.stream_sizes = sizes;
  }
  if (!with_segments) return;
  out.reads = all_of(file.reads, memory);
  out.writes = all_of(file.writes, memory);
  out.stream_reads = all_of(file.stream_reads, memory);
  out.stream_writes = all_of(file.stream_writes, memory);
}

void add_dropped(const RecorderTables& tables, IoProfile& profile) {
  IoProfile::Dropped& dropped = profile.dropped;
  if (!profile.stream_sizes) profile.stream_sizes = RequestSizes{};
  dropped.files += tables.dropped_files;
  dropped.segments += tables.dropped_segments;
  dropped.posix |= tables.posix_partial;
  dropped.stdio |= tables.stdio_partial;
  dropped.segments_partial |= tables.dropped_segments > 0;
}

}  // namespace stoker
