#include "io/profiler/preload/preload_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "io/metrics/clock.h"
#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/recorded_files.h"

namespace stoker {
namespace {

// A file in memory, to be read.
class MappedLog {
 public:
  explicit MappedLog(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat what {};
    if (file.get() < 0 || ::fstat(file.get(), &what) != 0) return;
    const auto bytes = static_cast<size_t>(what.st_size);
    if (bytes < sizeof(PreloadLog)) return;
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
    if (memory == MAP_FAILED) return;
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
                       log->layout == kPreloadLayout && log->bytes <= bytes_;
    return whole ? log : nullptr;
  }
  RecordedMemory where() const { return {log()->there, memory_, bytes_}; }

 private:
  const std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
};

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// Lists are followed at most this far: a damaged one might have no end.
constexpr size_t kMostThreads = 1 << 20, kMostFiles = 1 << 22;

void read_threads(const PreloadLog& log, const RecordedMemory& memory, PreloadedProcess& process) {
  const ThreadReads* at = memory.here<ThreadReads>(log.threads.load(std::memory_order_acquire));
  for (size_t i = 0; at != nullptr && i < kMostThreads; ++i) {
    process.copied_s += 1e-9 * static_cast<double>(at->copied_ns);
    at = memory.here<ThreadReads>(at->next);
  }
}

template <class Look>
void each_file(const PreloadLog& log, const RecordedMemory& memory, const Look& look) {
  const FileRecord* file = memory.here<FileRecord>(log.tables.records.newest());
  for (size_t i = 0; file != nullptr && i < kMostFiles; ++i) {
    look(*file);
    file = memory.here<FileRecord>(file->next_made);
  }
}

void read_files(const PreloadLog& log, const RecordedMemory& memory, PreloadedProcess& process) {
  // Kilobytes each, which are not to be moved: who waits for a program's end waits for this.
  size_t count = 0;
  each_file(log, memory, [&](const FileRecord&) { ++count; });
  process.io.files.reserve(count);
  each_file(log, memory, [&](const FileRecord& file) {
    add_recorded_file(file, true, memory, process.io);
    if (const int64_t cold = file.cold_bytes; cold > 0) process.cold_bytes[file.id] = cold;
  });
  std::reverse(process.io.files.begin(), process.io.files.end());
  for (FileIo& of : process.io.files) of.rank = process.number;
  add_dropped(log.tables, process.io);
}

}  // namespace

std::optional<PreloadedProcess> read_preload_log(const std::string& path, bool only_ended) {
  constexpr int64_t kAWhile = 2'000'000'000;
  const MappedLog mapped(path);
  const PreloadLog* const log = mapped.log();
  if (log == nullptr) return std::nullopt;
  const int64_t end_ns = log->end_ns;
  if (only_ended && (end_ns == 0 || now_ns() - end_ns < kAWhile)) return std::nullopt;
  PreloadedProcess process;
  process.number = log->number;
  read_threads(*log, mapped.where(), process);
  read_files(*log, mapped.where(), process);
  return process;
}

}  // namespace stoker
