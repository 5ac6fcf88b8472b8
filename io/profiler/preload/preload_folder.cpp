#include "io/profiler/preload/preload_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/metrics/clock.h"
#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/recorded_files.h"
#include "io/profiler/records/mount_table.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// In memory where it can be, so that nothing of it is I/O of a device.
std::vector<std::string> places() {
  const char* const temporary = std::getenv("TMPDIR");
  return {"/dev/shm", temporary == nullptr || *temporary != '/' ? "/tmp" : temporary};
}

std::string prefix() { return fmt::format("stoker-run-{}-", ::getuid()); }

bool holds(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

FileDescriptor open_folder(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// A plain file of a folder in which another user may have put anything. None: it is not one.
FileDescriptor open_plain(const FileDescriptor& folder, const std::string& name) {
  FileDescriptor file(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat what {};
  if (file && (::fstat(file.get(), &what) != 0 || !S_ISREG(what.st_mode))) return {};
  return file;
}

// The processes that made them were killed, else they would hold a lock on `common`.
void remove_left_over(const std::string& place) {
  constexpr time_t kYoung_s = 60;  // it may be about to take its lock
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix())) continue;
    const FileDescriptor folder = open_folder(entry.path());
    struct stat what {};
    if (!folder || ::fstat(folder.get(), &what) != 0) continue;
    if (std::time(nullptr) - what.st_mtime < kYoung_s) continue;
    const FileDescriptor common = open_plain(folder, kPreloadCommonName);
    if (!common || holds(common.get())) fs::remove_all(entry.path(), error);
  }
}

std::unique_ptr<TemporaryFolder> make_folder() {
  int error = 0;
  for (const std::string& place : places()) {
    remove_left_over(place);
    try {
      return std::make_unique<TemporaryFolder>(place, prefix());
    } catch (const IoError& failed) {
      error = failed.errno_value();
    }
  }
  throw Error(ExitCode::environment,
              fmt::format("/dev/shm and the folder for temporary files: no folder for counters can "
                          "be made ({}): set TMPDIR to one that can be written",
                          std::strerror(error)));
}

// The mounts, for who asks how large the blocks of a file's file system are.
void add_mounts(PreloadCommon& common) {
  size_t at = 0;
  for (const IoProfile::Mount& mount : MountTable().list()) {
    const size_t length = mount.path.size();
    if (common.mounts == common.mount.size() || at + length > common.text.size()) return;
    std::memcpy(common.text.data() + at, mount.path.data(), length);
    PreloadCommon::Mount& to = common.mount[common.mounts++];
    to.at = static_cast<uint32_t>(at);
    to.length = static_cast<uint32_t>(length);
    at += length;
  }
}

}  // namespace

PreloadFolder::PreloadFolder(int64_t segment_bytes)
    : folder_(make_folder()), opened_(open_folder(path())) {
  if (!opened_) throw_errno("open", path(), errno);
  write_common(segment_bytes);
}

PreloadFolder::~PreloadFolder() = default;

// The folder last: until then nobody else can change what its names lead to.
void PreloadFolder::give_to(uid_t user, gid_t group) const {
  for (const FileDescriptor* const one : {&lock_, &opened_}) {
    if (::fchown(one->get(), user, group) != 0) {
      throw_errno("give to the program's user", path(), errno);
    }
  }
}

void PreloadFolder::write_common(int64_t segment_bytes) {
  const std::string name = path() + '/' + kPreloadCommonName;
  lock_ = FileDescriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (lock_.get() < 0) throw_errno("make", name, errno);
  holds(lock_.get());
  const int failed = ::posix_fallocate(lock_.get(), 0, sizeof(PreloadCommon));
  if (failed != 0) throw_errno("make room in", name, failed);
  void* const memory =
      ::mmap(nullptr, sizeof(PreloadCommon), PROT_READ | PROT_WRITE, MAP_SHARED, lock_.get(), 0);
  if (memory == MAP_FAILED) throw_errno("map", name, errno);
  auto& common = *std::construct_at(static_cast<PreloadCommon*>(memory));
  begin_ns_ =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  common.begin_ns = begin_ns_;
  common.segment_bytes = segment_bytes;
  add_mounts(common);
  common.layout = kPreloadLayout;
  ::munmap(memory, sizeof(PreloadCommon));
}

std::string PreloadFolder::library() { return plugin_beside_library("stoker_preload"); }

std::vector<std::string> PreloadFolder::environment() const {
  std::string preload = library();
  const char* const others = std::getenv("LD_PRELOAD");
  if (others != nullptr && *others != '\0') preload += std::string(":") + others;
  return {"LD_PRELOAD=" + preload, std::string(kPreloadFolder) + '=' + path()};
}

void PreloadFolder::collect_logs(bool only_ended) {
  // By its descriptor, for who owns the folder may have put another one or a link in its place.
  const int list = ::openat(opened_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, decltype([](DIR* of) { ::closedir(of); })> names(::fdopendir(list));
  while (const dirent* const entry = names ? ::readdir(names.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".log")) continue;
    auto process = read_preload_log(open_plain(opened_, name), only_ended);
    const bool taken = process.has_value();
    if (taken) collected_.push_back(*std::move(process));
    if (taken || !only_ended) ::unlinkat(opened_.get(), name.c_str(), 0);
  }
}

void PreloadFolder::collect_ended() { collect_logs(true); }

std::vector<PreloadedProcess> PreloadFolder::collect() {
  collect_logs(false);
  std::ranges::sort(collected_, {}, &PreloadedProcess::number);
  return std::exchange(collected_, {});
}

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
