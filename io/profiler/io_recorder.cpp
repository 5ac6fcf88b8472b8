#include "io/profiler/io_recorder.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <mutex>

#include "io/profiler/counters/rules.h"
#include "io/profiler/recorder_tables.h"
#include "io/profiler/wrap/counting.h"

namespace stoker {
namespace {

// What the counters of `file` get from count(PosixRecord&). No file: nothing.
template <class F>
void with_posix(RecorderTables& tables, FileRecord* file, F count) {
  if (file == nullptr) return;
  const std::lock_guard lock(file->mutex);
  if (PosixRecord* const record = tables.posix_of(*file)) count(*record);
}

// What a call moved, where the descriptor's position is the file's.
PosixTransfer transfer_of(const RecorderTables& tables, const PosixRecord& record, int64_t bytes,
                          int64_t offset, const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto unit = static_cast<uintptr_t>(tables.surroundings.memory_alignment);
  return {bytes, offset < 0 ? record.offset : offset, address % unit == 0};
}

}  // namespace

void IoRecorder::opened(int fd, int directory, const char* path, CallTime time, int mode) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  FileRecord* const file = in->file_at(directory, path);
  // It is set even without a record, because the file that had the number before is gone.
  if (!in->descriptors.set(fd, file, time.end_ns)) in->posix_partial = true;
  with_posix(*in, file, [&](PosixRecord& record) { count_open(record, mode, in->span(time)); });
  in->hear(HeardCall::open, file, 0, time);
}

void IoRecorder::named(int fd, const char* path) {
  const Inside in(*this);
  if (!in || path == nullptr) return;
  // The kernel's name. A pipe's name is not that of a file.
  if (FileRecord* const file = in->file_named(path)) in->descriptors.set_if_unknown(fd, file);
}

void IoRecorder::closed(int fd, CallTime time) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  with_posix(*in, in->descriptors.close(fd, time.begin_ns),
             [&](PosixRecord& record) { count_close(record, in->span(time)); });
}

void IoRecorder::closed_range(unsigned first, unsigned last) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  const unsigned end = in->descriptors.end();
  if (end == 0) return;
  for (unsigned fd = first; fd <= std::min(last, end - 1); ++fd) {
    in->descriptors.set(static_cast<int>(fd), nullptr, 0);
  }
}

void IoRecorder::duplicated(int from, int to, CallTime time) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  FileRecord* const file = in->descriptors.find(from);
  if (!in->descriptors.set(to, file, time.end_ns)) in->posix_partial = true;
  with_posix(*in, file, [&](PosixRecord& record) { count_duplicate(record, in->span(time)); });
}

void IoRecorder::read(int fd, int64_t bytes, int64_t offset, const void* memory, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  FileRecord* const file = in->descriptors.find(fd);
  if (file == nullptr) in->elsewhere_read.fetch_add(bytes, std::memory_order_relaxed);
  with_posix(*in, file, [&](PosixRecord& record) {
    const CallSpan call = in->span(time);
    const PosixTransfer transfer = transfer_of(*in, record, bytes, offset, memory);
    in->keep_segment(file->reads, transfer.offset, transfer.bytes, call);
    count_read(record, transfer, call, in->arena);
  });
  in->hear(HeardCall::read, file, bytes, time);
}

void IoRecorder::wrote(int fd, int64_t bytes, int64_t offset, const void* memory, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  FileRecord* const file = in->descriptors.find(fd);
  if (file == nullptr) in->elsewhere_written.fetch_add(bytes, std::memory_order_relaxed);
  with_posix(*in, file, [&](PosixRecord& record) {
    const CallSpan call = in->span(time);
    const PosixTransfer transfer = transfer_of(*in, record, bytes, offset, memory);
    in->keep_segment(file->writes, transfer.offset, transfer.bytes, call);
    count_write(record, transfer, call, in->arena);
  });
  in->hear(HeardCall::write, file, bytes, time);
}

void IoRecorder::seeked(int fd, int64_t position, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  with_posix(*in, in->descriptors.find(fd),
             [&](PosixRecord& record) { count_seek(record, position, in->span(time)); });
}

void IoRecorder::stated(int fd, const struct stat& what, CallTime time) {
  if (!S_ISREG(what.st_mode)) return;
  const Inside in(*this);
  if (!in) return;
  with_posix(*in, in->descriptors.find(fd),
             [&](PosixRecord& record) { count_stat(record, in->span(time)); });
}

void IoRecorder::stated(int directory, const char* path, const struct stat& what, CallTime time) {
  if (!S_ISREG(what.st_mode)) return;
  const Inside in(*this);
  if (!in) return;
  with_posix(*in, in->file_at(directory, path),
             [&](PosixRecord& record) { count_stat(record, in->span(time)); });
}

void IoRecorder::mapped(int fd, CallTime) {
  const Inside in(*this);
  if (!in) return;
  with_posix(*in, in->descriptors.find(fd), [](PosixRecord& record) { count_map(record); });
}

void IoRecorder::synced(int fd, bool data_only, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  with_posix(*in, in->descriptors.find(fd),
             [&](PosixRecord& record) { count_sync(record, data_only, in->span(time)); });
}

void IoRecorder::renamed(int from_directory, const char* from, int to_directory, const char* to,
                         CallTime time) {
  const Inside in(*this);
  RecordName name;
  if (!in || !in->name_of(from_directory, from, name)) return;
  FileRecord* const source = in->records.find(record_id(name.text()));
  if (source == nullptr) return;
  {
    // Only a file that the module POSIX knows already.
    const std::lock_guard lock(source->mutex);
    if (source->posix == nullptr) return;
  }
  with_posix(*in, source,
             [&](PosixRecord& record) { count_rename_source(record, in->span(time)); });
  with_posix(*in, in->file_at(to_directory, to),
             [&](PosixRecord& record) { count_rename_target(record, source->id); });
}

constinit thread_local int own_io_depth = 0;

OwnIo::OwnIo() { ++own_io_depth; }
OwnIo::~OwnIo() { --own_io_depth; }

}  // namespace stoker
