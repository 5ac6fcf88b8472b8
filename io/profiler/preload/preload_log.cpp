#include "io/profiler/preload/preload_log.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "io/metrics/clock.h"
#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/recorded_files.h"

namespace stoker {
namespace {

constexpr int64_t kMostProcesses = int64_t{1} << 32;

// What of a file holds data is copied to its place in memory; holes take none.
void copy_data(const FileDescriptor& file, std::byte* to, off_t bytes) {
  off_t at = ::lseek(file.get(), 0, SEEK_DATA);
  while (at >= 0 && at < bytes) {
    const off_t end = std::min(bytes, ::lseek(file.get(), at, SEEK_HOLE));
    while (at < end) {
      const ssize_t count = ::pread(file.get(), to + at, static_cast<size_t>(end - at), at);
      if (count <= 0) return;
      at += count;
    }
    at = ::lseek(file.get(), at, SEEK_DATA);
  }
}

// A file in memory, to be read.
class MappedLog {
 public:
  explicit MappedLog(const FileDescriptor& file) {
    constexpr off_t kMost = off_t{16} << 30;
    struct stat what {};
    if (!file || ::fstat(file.get(), &what) != 0) return;
    if (what.st_size < static_cast<off_t>(sizeof(PreloadLog)) || what.st_size > kMost) return;
    const bool own = what.st_uid == ::geteuid();
    const auto bytes = static_cast<size_t>(what.st_size);
    void* const memory =
        own ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.get(), 0)
            : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    if (!own) copy_data(file, static_cast<std::byte*>(memory), what.st_size);
    memory_ = static_cast<const std::byte*>(memory);
    bytes_ = bytes;
  }
  ~MappedLog() {
    if (memory_ != nullptr) ::munmap(const_cast<std::byte*>(memory_), bytes_);
  }
  MappedLog(const MappedLog&) = delete;
  MappedLog& operator=(const MappedLog&) = delete;

  // Null: it is none, or not finished.
  const PreloadLog* log() const {
    if (memory_ == nullptr) return nullptr;
    const auto* const log = reinterpret_cast<const PreloadLog*>(memory_);
    const bool whole = log->magic.load(std::memory_order_acquire) == PreloadLog::kMagic &&
                       log->layout == kPreloadLayout && log->bytes <= bytes_ && log->number >= 0 &&
                       log->number < kMostProcesses;
    return whole ? log : nullptr;
  }
  // How many records fit into it: a damaged list might have no end.
  size_t most_files() const { return bytes_ / sizeof(FileRecord); }
  RecordedMemory where() const { return {log()->there, memory_, bytes_}; }

 private:
  const std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

constexpr size_t kMostThreads = 1 << 20;  // likewise

void read_threads(const PreloadLog& log, const RecordedMemory& memory, PreloadedProcess& process) {
  const ThreadReads* at = memory.here<ThreadReads>(log.threads.load(std::memory_order_acquire));
  for (size_t i = 0; at != nullptr && i < kMostThreads; ++i) {
    process.copied_s += 1e-9 * static_cast<double>(at->copied_ns);
    at = memory.here<ThreadReads>(at->next);
  }
}

template <class Look>
void each_file(const PreloadLog& log, const RecordedMemory& memory, size_t most, const Look& look) {
  const FileRecord* file = memory.here<FileRecord>(log.tables.records.newest());
  for (size_t i = 0; file != nullptr && i < most; ++i) {
    look(*file);
    file = memory.here<FileRecord>(file->next_made);
  }
}

void read_files(const MappedLog& mapped, PreloadedProcess& process) {
  const PreloadLog& log = *mapped.log();
  const RecordedMemory memory = mapped.where();
  const size_t most = mapped.most_files();
  // Kilobytes each, which are not to be moved: who waits for a program's end waits for this.
  size_t count = 0;
  each_file(log, memory, most, [&](const FileRecord&) { ++count; });
  process.io.files.reserve(count);
  each_file(log, memory, most, [&](const FileRecord& file) {
    add_recorded_file(file, true, memory, process.io);
    if (const int64_t cold = file.cold_bytes; cold > 0) process.cold_bytes[file.id] = cold;
  });
  std::reverse(process.io.files.begin(), process.io.files.end());
  for (FileIo& of : process.io.files) of.rank = process.number;
  add_dropped(log.tables, process.io);
}

}  // namespace

std::optional<PreloadedProcess> read_preload_log(const FileDescriptor& file, bool only_ended) {
  constexpr int64_t kAWhile = 2'000'000'000;
  const MappedLog mapped(file);
  const PreloadLog* const log = mapped.log();
  if (log == nullptr) return std::nullopt;
  const int64_t end_ns = log->end_ns;
  if (only_ended && (end_ns == 0 || now_ns() - end_ns < kAWhile)) return std::nullopt;
  PreloadedProcess process;
  process.number = log->number;
  read_threads(*log, mapped.where(), process);
  read_files(mapped, process);
  return process;
}

}  // namespace stoker
