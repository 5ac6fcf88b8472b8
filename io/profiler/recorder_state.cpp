#include "io/profiler/recorder_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

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

void add_sizes(SizeCounts& sum, const SizeCounts& sizes) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += sizes[i];
}

}  // namespace

// The count goes up before the state is looked at, and whoever takes the state away waits until all
// counts are down: both in one order for all threads (memory_order_seq_cst).
Inside::Inside(const IoRecorder& recorder) {
  if (!recorder.on() || inside.load(std::memory_order_relaxed)) return;
  inside.store(true, std::memory_order_relaxed);
  // Threads' own variables lie pages apart.
  const auto thread = reinterpret_cast<uintptr_t>(&inside) >> 12;
  count_ = &recorder.inside_[thread % recorder.inside_.size()].threads;
  count_->fetch_add(1);
  state_ = recorder.state_.load();
}

Inside::~Inside() {
  if (count_ == nullptr) return;
  count_->fetch_sub(1);
  inside.store(false, std::memory_order_relaxed);
}

RecorderState::RecorderState(const IoRecorderOptions& options)
    : options(options),
      filter{options.exclude, options.include},
      begun(begin_profile()),
      arena(options.memory.bytes),
      segments(options.segment_memory.bytes) {
  const std::pair<FILE*, std::string_view> kStandard[] = {
      {stdin, "<STDIN>"}, {stdout, "<STDOUT>"}, {stderr, "<STDERR>"}};
  for (const auto& [stream, name] : kStandard) {
    FileRecord* const file = file_named(name);
    if (file != nullptr) streams.set(stream, file, ::fileno_unlocked(stream), 0);
  }
  // Darshan opens these records when it starts, at no time.
  for (FILE* const stream : {stdin, stdout, stderr}) {
    FileRecord* const file = streams.find(stream);
    if (file == nullptr) continue;
    const std::lock_guard lock(file->mutex);
    if (StdioRecord* const record = stdio_of(*file)) count_open(*record, CallSpan{});
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
  if (file.posix != nullptr) return file.posix;
  file.posix = arena.make<PosixRecord>();
  if (file.posix == nullptr) {
    posix_partial = true;
    return nullptr;
  }
  auto& counters = file.posix->counters.counters;
  counters[PosixCounters::MEM_ALIGNMENT] = options.memory_alignment;
  counters[PosixCounters::FILE_ALIGNMENT] = file.block_bytes;
  return file.posix;
}

StdioRecord* RecorderState::stdio_of(FileRecord& file) {
  if (file.stdio == nullptr) file.stdio = arena.make<StdioRecord>();
  if (file.stdio == nullptr) stdio_partial = true;
  return file.stdio;
}

void RecorderState::keep_segment(SegmentList& list, int64_t offset, int64_t bytes,
                                 const CallSpan& call) {
  if (options.segment_memory.bytes == 0) return;
  if (list.add({offset, bytes, call.begin_s, call.end_s}, segments)) return;
  dropped_segments.fetch_add(1, std::memory_order_relaxed);
}

IoProfile RecorderState::profile(Segments segments) const {
  IoProfile profile = profile_between(begun, begin_profile());
  if (profile.kernel) {
    profile.kernel->elsewhere_read = elsewhere_read;
    profile.kernel->elsewhere_written = elsewhere_written;
  }
  profile.mounts = mounts.list();
  RequestSizes& sizes = profile.stream_sizes.emplace();
  for (FileRecord* file = records.newest(); file != nullptr; file = file->next_made) {
    const std::lock_guard lock(file->mutex);
    if (file->posix == nullptr && file->stdio == nullptr) continue;
    FileIo& out = profile.files.emplace_back();
    out.id = file->id;
    out.path = file->name;
    if (file->posix != nullptr) out.posix = counters_of(*file->posix);
    if (file->stdio != nullptr) {
      out.stdio = file->stdio->counters;
      add_sizes(sizes.reads, file->stdio->read_sizes);
      add_sizes(sizes.writes, file->stdio->write_sizes);
    }
    if (segments == Segments::without) continue;
    out.reads = file->reads.all();
    out.writes = file->writes.all();
    out.stream_reads = file->stream_reads.all();
    out.stream_writes = file->stream_writes.all();
  }
  std::reverse(profile.files.begin(), profile.files.end());
  profile.dropped = {.files = dropped_files,
                     .segments = dropped_segments,
                     .posix = posix_partial,
                     .stdio = stdio_partial,
                     .segments_partial = dropped_segments > 0};
  return profile;
}

}  // namespace stoker
