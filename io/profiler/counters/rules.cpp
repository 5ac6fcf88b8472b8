#include "io/profiler/counters/rules.h"

#include <algorithm>
#include <bit>
#include <span>

#include "io/metrics/tier_meter.h"
#include "io/profiler/profile.h"

namespace stoker {
namespace {

using P = PosixCounters;

// What is the same for reads and writes, but for the names.
struct Direction {
  P::Counter calls, bytes, max_byte, consecutive, sequential, first_bucket, slowest_bytes;
  P::Time begin, end, total, slowest;
  int64_t PosixRecord::*last_byte;
  double PosixRecord::*covered;
  PosixRecord::Moved moved;
};

constexpr Direction kRead{P::READS,
                          P::BYTES_READ,
                          P::MAX_BYTE_READ,
                          P::CONSEC_READS,
                          P::SEQ_READS,
                          P::SIZE_READ_0_100,
                          P::MAX_READ_TIME_SIZE,
                          P::READ_START,
                          P::READ_END,
                          P::READ_TIME,
                          P::MAX_READ_TIME,
                          &PosixRecord::last_byte_read,
                          &PosixRecord::read_covered,
                          PosixRecord::Moved::read};
constexpr Direction kWrite{P::WRITES,
                           P::BYTES_WRITTEN,
                           P::MAX_BYTE_WRITTEN,
                           P::CONSEC_WRITES,
                           P::SEQ_WRITES,
                           P::SIZE_WRITE_0_100,
                           P::MAX_WRITE_TIME_SIZE,
                           P::WRITE_START,
                           P::WRITE_END,
                           P::WRITE_TIME,
                           P::MAX_WRITE_TIME,
                           &PosixRecord::last_byte_written,
                           &PosixRecord::write_covered,
                           PosixRecord::Moved::wrote};

// A division costs as much as all the rest.
bool is_multiple(int64_t offset, int64_t unit) {
  const auto bits = static_cast<uint64_t>(unit);
  return std::has_single_bit(bits) ? (static_cast<uint64_t>(offset) & (bits - 1)) == 0
                                   : offset % unit == 0;
}

template <const Direction& d>
void count_transfer(PosixRecord& record, const PosixTransfer& transfer, const CallSpan& call,
                    Arena& arena) {
  auto& counters = record.counters.counters;
  auto& times = record.counters.times;
  const int64_t offset = transfer.offset < 0 ? record.offset : transfer.offset;
  int64_t& last_byte = record.*d.last_byte;

  if (offset > last_byte) ++counters[d.sequential];
  if (offset == last_byte + 1) ++counters[d.consecutive];
  const bool strides = offset > 0 && offset > last_byte && last_byte != 0;
  record.strides.count(strides ? offset - last_byte - 1 : 0, arena);
  record.offset = sum_of(offset, transfer.bytes);
  last_byte = record.offset - 1;
  counters[d.max_byte] = std::max(counters[d.max_byte], last_byte);

  ++counters[d.calls];
  counters[d.bytes] += transfer.bytes;
  ++counters[d.first_bucket + size_bucket(transfer.bytes)];
  record.sizes.count(transfer.bytes, arena);
  if (!transfer.memory_aligned) ++counters[P::MEM_NOT_ALIGNED];
  const int64_t unit = counters[P::FILE_ALIGNMENT];
  if (unit > 0 && !is_multiple(offset, unit)) ++counters[P::FILE_NOT_ALIGNED];
  if (record.moved != PosixRecord::Moved::nothing && record.moved != d.moved) {
    ++counters[P::RW_SWITCHES];
  }
  record.moved = d.moved;

  stamp(call, times[d.begin], times[d.end]);
  if (times[d.slowest] < call.seconds()) {
    times[d.slowest] = call.seconds();
    counters[d.slowest_bytes] = transfer.bytes;
  }
  add_time(call, times[d.total], record.*d.covered);
}

void add_meta_time(PosixRecord& record, const CallSpan& call) {
  add_time(call, record.counters.times[P::META_TIME], record.meta_covered);
}

// A descriptor more for the file.
void count_descriptor(PosixRecord& record, const CallSpan& call) {
  ++record.counters.counters[P::OPENS];
  stamp(call, record.counters.times[P::OPEN_START], record.counters.times[P::OPEN_END]);
  add_meta_time(record, call);
}

}  // namespace

PosixCounters counters_of(const PosixRecord& record) {
  PosixCounters counters = record.counters;
  constexpr size_t kSize = 2 * CommonValues::kShown;
  const std::span all(counters.counters);
  record.strides.write(all.subspan<P::STRIDE1_STRIDE, kSize>());
  record.sizes.write(all.subspan<P::ACCESS1_ACCESS, kSize>());
  return counters;
}

void count_open(PosixRecord& record, int mode, const CallSpan& call) {
  if (mode != 0) record.counters.counters[P::MODE] = mode;
  record.offset = record.last_byte_read = record.last_byte_written = 0;
  count_descriptor(record, call);
}

void count_duplicate(PosixRecord& record, const CallSpan& call) {
  ++record.counters.counters[P::DUPS];
  count_descriptor(record, call);
}

void count_fileno(PosixRecord& record, const CallSpan& call) {
  ++record.counters.counters[P::FILENOS];
  count_descriptor(record, call);
}

void count_close(PosixRecord& record, const CallSpan& call) {
  record.last_byte_read = record.last_byte_written = 0;
  stamp(call, record.counters.times[P::CLOSE_START], record.counters.times[P::CLOSE_END]);
  add_meta_time(record, call);
}

void count_read(PosixRecord& record, const PosixTransfer& transfer, const CallSpan& call,
                Arena& arena) {
  count_transfer<kRead>(record, transfer, call, arena);
}

void count_write(PosixRecord& record, const PosixTransfer& transfer, const CallSpan& call,
                 Arena& arena) {
  count_transfer<kWrite>(record, transfer, call, arena);
}

void count_seek(PosixRecord& record, int64_t position, const CallSpan& call) {
  ++record.counters.counters[P::SEEKS];
  record.offset = position;
  add_meta_time(record, call);
}

void count_stat(PosixRecord& record, const CallSpan& call) {
  ++record.counters.counters[P::STATS];
  add_meta_time(record, call);
}

void count_map(PosixRecord& record) { ++record.counters.counters[P::MMAPS]; }

void count_sync(PosixRecord& record, bool data_only, const CallSpan& call) {
  ++record.counters.counters[data_only ? P::FDSYNCS : P::FSYNCS];
  add_time(call, record.counters.times[P::WRITE_TIME], record.write_covered);
}

void count_rename_source(PosixRecord& record, const CallSpan& call) {
  ++record.counters.counters[P::RENAME_SOURCES];
  add_meta_time(record, call);
}

void count_rename_target(PosixRecord& record, uint64_t source_id) {
  auto& counters = record.counters.counters;
  ++counters[P::RENAME_TARGETS];
  if (counters[P::RENAMED_FROM] == 0) {
    counters[P::RENAMED_FROM] = static_cast<int64_t>(source_id);
  }
}

namespace {

using S = StdioCounters;

void add_meta_time(StdioRecord& record, const CallSpan& call) {
  add_time(call, record.counters.times[S::META_TIME], record.meta_covered);
}

void count_stream(StdioRecord& record, const CallSpan& call) {
  ++record.counters.counters[S::OPENS];
  stamp(call, record.counters.times[S::OPEN_START], record.counters.times[S::OPEN_END]);
  add_meta_time(record, call);
}

// Also of a flush, which writes 0 bytes where the file is.
void count_written(StdioRecord& record, int64_t bytes, const CallSpan& call) {
  auto& [counters, times] = record.counters;
  record.offset += bytes;
  counters[S::BYTES_WRITTEN] += bytes;
  counters[S::MAX_BYTE_WRITTEN] = std::max(counters[S::MAX_BYTE_WRITTEN], record.offset - 1);
  stamp(call, times[S::WRITE_START], times[S::WRITE_END]);
  add_time(call, times[S::WRITE_TIME], record.write_covered);
}

}  // namespace

void count_open(StdioRecord& record, const CallSpan& call) {
  record.offset = 0;
  count_stream(record, call);
}

void count_fdopen(StdioRecord& record, const CallSpan& call) {
  ++record.counters.counters[S::FDOPENS];
  count_stream(record, call);
}

void count_close(StdioRecord& record, const CallSpan& call) {
  stamp(call, record.counters.times[S::CLOSE_START], record.counters.times[S::CLOSE_END]);
  add_meta_time(record, call);
}

void count_read(StdioRecord& record, int64_t bytes, const CallSpan& call) {
  auto& [counters, times] = record.counters;
  ++counters[S::READS];
  ++record.read_sizes[size_bucket(bytes)];
  record.offset += bytes;
  counters[S::BYTES_READ] += bytes;
  counters[S::MAX_BYTE_READ] = std::max(counters[S::MAX_BYTE_READ], record.offset - 1);
  stamp(call, times[S::READ_START], times[S::READ_END]);
  add_time(call, times[S::READ_TIME], record.read_covered);
}

void count_write(StdioRecord& record, int64_t bytes, const CallSpan& call) {
  ++record.counters.counters[S::WRITES];
  ++record.write_sizes[size_bucket(bytes)];
  count_written(record, bytes, call);
}

void count_flush(StdioRecord& record, const CallSpan& call) {
  ++record.counters.counters[S::FLUSHES];
  count_written(record, 0, call);
}

void count_seek(StdioRecord& record, int64_t position, const CallSpan& call) {
  ++record.counters.counters[S::SEEKS];
  record.offset = position;
  add_meta_time(record, call);
}

}  // namespace stoker
