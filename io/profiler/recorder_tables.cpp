#include "io/profiler/recorder_tables.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <mutex>

namespace stoker {
namespace {

// Never of dynamic TLS, which would allocate in the first call of a thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::atomic<bool> inside{false};

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

// The count goes up before the tables are looked at, and whoever takes them away waits until all
// counts are down: both in one order for all threads (memory_order_seq_cst).
Inside::Inside(const IoRecorder& recorder) {
  if (!recorder.on() || inside.load(std::memory_order_relaxed)) return;
  inside.store(true, std::memory_order_relaxed);
  entered_ = true;
  if (!recorder.lasting_) {
    // Threads' own variables lie pages apart.
    const auto thread = reinterpret_cast<uintptr_t>(&inside) >> 12;
    count_ = &recorder.inside_[thread % recorder.inside_.size()].threads;
    count_->fetch_add(1);
  }
  tables_ = recorder.tables_.load();
}

Inside::~Inside() {
  if (!entered_) return;
  if (count_ != nullptr) count_->fetch_sub(1);
  inside.store(false, std::memory_order_relaxed);
}

RecorderTables::RecorderTables(const RecorderSurroundings& surroundings, Arena& arena,
                               Arena* segment_arena)
    : surroundings(surroundings),
      arena(arena),
      keeps_segments(segment_arena != nullptr),
      segments(segment_arena == nullptr ? arena : *segment_arena) {}

void RecorderTables::add_standard_streams() {
  constexpr std::array<std::string_view, 3> kNames = {"<STDIN>", "<STDOUT>", "<STDERR>"};
  const std::array<FILE*, 3> kStreams = {stdin, stdout, stderr};
  for (size_t i = 0; i < kStreams.size(); ++i) {
    FileRecord* const file = file_named(kNames[i]);
    if (file == nullptr) continue;
    streams.set(kStreams[i], file, ::fileno_unlocked(kStreams[i]), 0);
    const std::lock_guard lock(file->mutex);
    if (StdioRecord* const record = stdio_of(*file)) count_open(*record, CallSpan{});
  }
}

bool RecorderTables::of_this_process() const {
  return surroundings.process == 0 || ::getpid() == surroundings.process;
}

bool RecorderTables::name_of(int directory, const char* path, RecordName& name) {
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

FileRecord* RecorderTables::file_named(std::string_view name) {
  if (!surroundings.sees(surroundings.of, name)) return nullptr;
  const uint64_t id = record_id(name);
  if (FileRecord* const known = records.find(id)) return known;
  FileRecord* const made =
      records.find_or_make(id, name, surroundings.block_bytes(surroundings.of, name));
  if (made == nullptr) {
    dropped_files.fetch_add(1, std::memory_order_relaxed);
    posix_partial = stdio_partial = true;
  }
  return made;
}

FileRecord* RecorderTables::file_at(int directory, const char* path) {
  RecordName name;
  return name_of(directory, path, name) ? file_named(name.text()) : nullptr;
}

FileRecord* RecorderTables::file_of(FILE* stream) {
  if (stream == nullptr) return nullptr;
  if (FileRecord* const known = streams.find(stream)) return known;
  const int fd = ::fileno_unlocked(stream);
  FileRecord* const file = descriptors.find(fd);
  if (file != nullptr) streams.set(stream, file, fd, 0);
  return file;
}

PosixRecord* RecorderTables::posix_of(FileRecord& file) {
  if (file.posix != nullptr) return file.posix;
  PosixRecord* const made = arena.make<PosixRecord>();
  if (made == nullptr) {
    posix_partial = true;
    return nullptr;
  }
  auto& counters = made->counters.counters;
  counters[PosixCounters::MEM_ALIGNMENT] = surroundings.memory_alignment;
  counters[PosixCounters::FILE_ALIGNMENT] = file.block_bytes;
  file.posix = made;
  return made;
}

StdioRecord* RecorderTables::stdio_of(FileRecord& file) {
  if (file.stdio == nullptr) file.stdio = arena.make<StdioRecord>();
  if (file.stdio == nullptr) stdio_partial = true;
  return file.stdio;
}

void RecorderTables::keep_segment(SegmentList& list, int64_t offset, int64_t bytes,
                                  const CallSpan& call) {
  if (!keeps_segments) return;
  if (list.add({offset, bytes, call.begin_s, call.end_s}, segments)) return;
  dropped_segments.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace stoker
