#include "io/profiler/recorder_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

// Never of dynamic TLS, which would allocate in the first call of a thread.
[[gnu::tls_model("initial-exec")]] thread_local std::atomic<bool> inside{false};

// What the kernel calls an open descriptor. Empty: it does not say.
std::string_view kernels_name(int fd, std::array<char, PATH_MAX>& buffer) {
  constexpr std::string_view kDirectory = "/proc/self/fd/";
  std::array<char, 32> link{};
  std::memcpy(link.data(), kDirectory.data(), kDirectory.size());
  std::to_chars(link.data() + kDirectory.size(), link.data() + link.size() - 1, fd);
  const ssize_t length = ::readlink(link.data(), buffer.data(), buffer.size());
  return {buffer.data(), static_cast<size_t>(length < 0 ? 0 : length)};
}

}  // namespace

Inside::Inside(RecorderState* state)
    : state_(inside.load(std::memory_order_relaxed) ? nullptr : state) {
  if (state_ != nullptr) inside.store(true, std::memory_order_relaxed);
}

Inside::~Inside() {
  if (state_ != nullptr) inside.store(false, std::memory_order_relaxed);
}

RecorderState::RecorderState(const IoRecorderOptions& options)
    : options(options),
      filter{options.exclude, options.include},
      begun(begin_profile()),
      arena(options.memory.bytes),
      segments(options.segment_memory.bytes) {
  forget_handles();
  // Darshan opens these records when it starts, at no time.
  for (FILE* const stream : {stdin, stdout, stderr}) {
    FileRecord* const file = streams.find(stream);
    if (file == nullptr) continue;
    const std::lock_guard lock(file->mutex);
    if (StdioRecord* const record = stdio_of(*file)) count_open(*record, CallSpan{});
  }
}

void RecorderState::forget_handles() {
  descriptors.clear();
  streams.clear();
  const std::pair<FILE*, std::string_view> kStandard[] = {
      {stdin, "<STDIN>"}, {stdout, "<STDOUT>"}, {stderr, "<STDERR>"}};
  for (const auto& [stream, name] : kStandard) {
    FileRecord* const file = file_named(name);
    if (file != nullptr) streams.set(stream, file, ::fileno_unlocked(stream), 0);
  }
}

bool RecorderState::name_of(int directory, const char* path, RecordName& name) {
  if (path == nullptr || *path == '\0') return false;
  if (*path == '/' || *path == '<') return name.set({}, path);
  std::array<char, PATH_MAX> buffer;
  if (directory == AT_FDCWD) {
    return ::getcwd(buffer.data(), buffer.size()) != nullptr && name.set(buffer.data(), path);
  }
  const FileRecord* const known = descriptors.find(directory);
  const std::string_view at = known != nullptr ? known->name : kernels_name(directory, buffer);
  return at.starts_with('/') && name.set(at, path);
}

FileRecord* RecorderState::file_named(std::string_view name) {
  if (!filter.sees(name)) return nullptr;
  const uint64_t id = record_id(name);
  if (FileRecord* const known = records.find(id)) return known;
  FileRecord* const made = records.find_or_make(id, name, mounts.block_bytes(name));
  if (made == nullptr) {
    dropped_files.fetch_add(1, std::memory_order_relaxed);
    posix_partial = stdio_partial = true;
  }
  return made;
}

FileRecord* RecorderState::file_at(int directory, const char* path) {
  RecordName name;
  return name_of(directory, path, name) ? file_named(name.text()) : nullptr;
}

FileRecord* RecorderState::file_of(FILE* stream) {
  if (stream == nullptr) return nullptr;
  if (FileRecord* const known = streams.find(stream)) return known;
  const int fd = ::fileno_unlocked(stream);
  FileRecord* const file = descriptors.find(fd);
  if (file != nullptr) streams.set(stream, file, fd, 0);
  return file;
}

PosixRecord* RecorderState::posix_of(FileRecord& file) {
  enter_part(file);
  if (file.posix == nullptr) {
    file.posix = arena.make<ModuleRecord<PosixRecord>>();
    if (file.posix == nullptr) {
      posix_partial = true;
      return nullptr;
    }
    auto& counters = file.posix->now.counters.counters;
    counters[PosixCounters::MEM_ALIGNMENT] = options.memory_alignment;
    counters[PosixCounters::FILE_ALIGNMENT] = file.block_bytes;
  }
  file.posix->in_now = true;
  return &file.posix->now;
}

StdioRecord* RecorderState::stdio_of(FileRecord& file) {
  enter_part(file);
  if (file.stdio == nullptr) {
    file.stdio = arena.make<ModuleRecord<StdioRecord>>();
    if (file.stdio == nullptr) {
      stdio_partial = true;
      return nullptr;
    }
  }
  file.stdio->in_now = true;
  return &file.stdio->now;
}

void RecorderState::keep_segment(const FileRecord& file, SegmentList& list,
                                 const PosixTransfer& transfer, const CallSpan& call) {
  const bool in_session = file.part % 2 == 1;
  if (!in_session || options.segment_memory.bytes == 0) return;
  if (list.add({transfer.offset, transfer.bytes, call.begin_s, call.end_s}, segments)) return;
  dropped_segments.fetch_add(1, std::memory_order_relaxed);
}

void RecorderState::begin_session() {
  const std::lock_guard session(session_);
  const std::lock_guard lock(entering_);
  if (part_ % 2 == 1) {
    throw Error(ExitCode::bug, "I/O profiler: a session is open already; end it first");
  }
  ++part_;
}

void RecorderState::enter_part(FileRecord& file) {
  if (file.part >= part_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(entering_);
  const uint32_t part = part_.load(std::memory_order_relaxed);
  if (file.part >= part) return;
  begin_part(file);
  // What a session that failed to end has left.
  file.reads.take(segments);
  file.writes.take(segments);
  file.part = collecting_ ? part + 1 : part;
  if (part % 2 == 1 && !collecting_) file.next_touched = std::exchange(touched_, &file);
}

FileRecord* RecorderState::begin_collecting() {
  const std::lock_guard lock(entering_);
  collecting_ = true;
  return std::exchange(touched_, nullptr);
}

void RecorderState::end_collecting() {
  const std::lock_guard lock(entering_);
  collecting_ = false;
  ++part_;
}

}  // namespace stoker
