#include <fcntl.h>

#include <cstdio>
#include <mutex>

#include "io/profiler/counters/rules.h"
#include "io/profiler/io_recorder.h"
#include "io/profiler/recorder_tables.h"

namespace stoker {
namespace {

// What the counters of `file` get from count(StdioRecord&). No file: nothing.
template <class F>
void with_stdio(RecorderTables& tables, FileRecord* file, F count) {
  if (file == nullptr) return;
  const std::lock_guard lock(file->mutex);
  if (StdioRecord* const record = tables.stdio_of(*file)) count(*record);
}

}  // namespace

void IoRecorder::stream_opened(FILE* stream, const char* path, CallTime time) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  FileRecord* const file = in->file_at(AT_FDCWD, path);
  const int fd = ::fileno_unlocked(stream);
  if (!in->streams.set(stream, file, fd, time.end_ns)) in->stdio_partial = true;
  // Who had the number before is gone, by a close that nobody told of.
  in->descriptors.set(fd, nullptr, time.end_ns);
  with_stdio(*in, file, [&](StdioRecord& record) { count_open(record, in->span(time)); });
  in->hear(HeardCall::open, file, 0, time);
}

void IoRecorder::stream_opened(FILE* stream, int fd, CallTime time) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  FileRecord* const file = in->descriptors.find(fd);
  if (!in->streams.set(stream, file, fd, time.end_ns)) in->stdio_partial = true;
  with_stdio(*in, file, [&](StdioRecord& record) { count_fdopen(record, in->span(time)); });
}

void IoRecorder::stream_asked_for_descriptor(FILE* stream, int fd, CallTime time) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  FileRecord* const file = in->streams.find(stream);
  if (file == nullptr) return;
  if (!in->descriptors.set(fd, file, time.end_ns)) in->posix_partial = true;
  const std::lock_guard lock(file->mutex);
  if (PosixRecord* const record = in->posix_of(*file)) count_fileno(*record, in->span(time));
}

void IoRecorder::stream_read(FILE* stream, int64_t bytes, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  FileRecord* const file = in->file_of(stream);
  if (file == nullptr) in->elsewhere_read.fetch_add(bytes, std::memory_order_relaxed);
  with_stdio(*in, file, [&](StdioRecord& record) {
    in->keep_segment(file->stream_reads, record.offset, bytes, in->span(time));
    count_read(record, bytes, in->span(time));
  });
  in->hear(HeardCall::read, file, bytes, time);
}

void IoRecorder::stream_wrote(FILE* stream, int64_t bytes, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  FileRecord* const file = in->file_of(stream);
  if (file == nullptr) in->elsewhere_written.fetch_add(bytes, std::memory_order_relaxed);
  with_stdio(*in, file, [&](StdioRecord& record) {
    in->keep_segment(file->stream_writes, record.offset, bytes, in->span(time));
    count_write(record, bytes, in->span(time));
  });
  in->hear(HeardCall::write, file, bytes, time);
}

void IoRecorder::stream_seeked(FILE* stream, int64_t position, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  with_stdio(*in, in->file_of(stream),
             [&](StdioRecord& record) { count_seek(record, position, in->span(time)); });
}

void IoRecorder::stream_flushed(FILE* stream, CallTime time) {
  const Inside in(*this);
  if (!in) return;
  with_stdio(*in, in->file_of(stream),
             [&](StdioRecord& record) { count_flush(record, in->span(time)); });
}

void IoRecorder::stream_closed(FILE* stream, CallTime time) {
  const Inside in(*this);
  if (!in || !in->of_this_process()) return;
  const StreamTable::Closed closed = in->streams.close(stream, time.begin_ns);
  // libc closes the descriptor where nobody sees it. (Darshan forgets this, and charges the next
  // owner's calls to this file.)
  if (closed.fd >= 0) in->descriptors.close(closed.fd, time.begin_ns);
  with_stdio(*in, closed.file, [&](StdioRecord& record) { count_close(record, in->span(time)); });
}

}  // namespace stoker
