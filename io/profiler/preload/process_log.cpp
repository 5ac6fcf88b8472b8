#include <sys/file.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "io/profiler/preload/preload.h"

namespace stoker {
namespace {

constexpr size_t kRecords = 256 << 20, kSegments = size_t{1} << 30;
constexpr size_t kRecordChunk = 64 << 10, kSegmentChunk = 256 << 10;

constinit PreloadCommon* g_common = nullptr;
constinit char g_folder[PATH_MAX - 32] = {};
constinit char g_path[PATH_MAX] = {};  // of the log

// Memory of the log that the file system has given. A page that it could not give would end the
// process by SIGBUS, so it is asked before.
struct Given {
  std::atomic<size_t> bytes{0};
  std::atomic<bool> spent{false};  // the budget of all processes is, and it does not come back
  SmallMutex asking;
};
constinit Given g_records, g_segments;

size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// By the file, for kernels before 5.14.
bool reserve_in_file(off_t at, size_t bytes) {
  const int fd = raw::open(g_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  bool done = ::syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(bytes)) == 0;
  if (!done && errno == EOPNOTSUPP) {
    static constexpr std::array<char, kPage> kZeros{};
    done = true;
    for (size_t i = 0; done && i < bytes; i += kPage) {
      done = raw::write_at(fd, kZeros.data(), kPage, at + static_cast<off_t>(i)) ==
             static_cast<ssize_t>(kPage);
    }
  }
  raw::close(fd);
  return done;
}

bool make_usable(std::byte* memory, size_t bytes, off_t at) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
  const int error = errno;
  bool done = ::madvise(memory, bytes, kPopulateWrite) == 0;
  if (!done && errno == EINVAL) done = reserve_in_file(at, bytes);
  errno = error;
  return done;
}

// Gives up to `bytes` of memory that begins at `at` in the file.
bool give(Given& given, std::byte* memory, off_t at, size_t bytes, size_t chunk,
          std::atomic<int64_t>* budget) {
  if (given.spent.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(given.asking);
  const size_t has = given.bytes.load(std::memory_order_relaxed);
  if (bytes <= has) return true;
  const size_t wanted = rounded(bytes, chunk) - has;
  const auto cost = static_cast<int64_t>(wanted);
  const bool paid = budget == nullptr || budget->fetch_sub(cost, std::memory_order_relaxed) >= cost;
  if (paid && make_usable(memory + has, wanted, at + static_cast<off_t>(has))) {
    given.bytes.store(has + wanted, std::memory_order_release);
    return true;
  }
  if (!paid) given.spent.store(true, std::memory_order_relaxed);
  if (budget != nullptr) budget->fetch_add(cost, std::memory_order_relaxed);
  return false;
}

// Of the log that is being used: how many bytes of the records there are.
constinit size_t g_record_bytes = 0;

constexpr size_t kHead = (sizeof(PreloadLog) + kPage - 1) / kPage * kPage;

bool records_ready(std::byte* memory, size_t bytes) {
  if (bytes <= g_records.bytes.load(std::memory_order_acquire)) return true;
  return give(g_records, memory, kHead, bytes, kRecordChunk, nullptr);
}

bool segments_ready(std::byte* memory, size_t bytes) {
  if (bytes <= g_segments.bytes.load(std::memory_order_acquire)) return true;
  return give(g_segments, memory, static_cast<off_t>(kHead + g_record_bytes), bytes, kSegmentChunk,
              &g_common->segment_bytes);
}

// --- which files, and on what

// The kernel's own are left out, and what this library writes.
bool sees(const void*, std::string_view name) {
  if (name.starts_with('<')) return true;
  if (!name.starts_with('/')) return false;
  if (name.starts_with("/proc/") || name.starts_with("/sys/")) return false;
  if (name.starts_with(std::string_view(g_folder))) return false;
  return !name.starts_with("/dev/") || name.starts_with("/dev/shm/");
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return directory == "/" || path.size() == directory.size() || path[directory.size()] == '/';
}

// Whoever comes first asks the file system, for all processes.
int64_t ask_for_block_bytes(std::string_view directory) {
  constexpr auto kLustre = 0x0BD00BD0;
  char path[PATH_MAX];
  if (directory.size() >= sizeof path) return kPage;
  std::memcpy(path, directory.data(), directory.size());
  path[directory.size()] = '\0';
  struct statfs answer {};
  if (::statfs(path, &answer) != 0) return kPage;
  return answer.f_type == kLustre ? int64_t{1} << 20 : static_cast<int64_t>(answer.f_bsize);
}

int64_t block_bytes(const void*, std::string_view name) {
  const uint32_t mounts = std::min<uint32_t>(g_common->mounts, PreloadCommon::kMounts);
  for (uint32_t i = 0; i < mounts; ++i) {
    PreloadCommon::Mount& mount = g_common->mount[i];
    const std::string_view path(g_common->text.data() + mount.at, mount.length);
    if (!lies_in(name, path)) continue;
    int64_t bytes = mount.block_bytes.load(std::memory_order_relaxed);
    if (bytes == 0) {
      bytes = std::max<int64_t>(1, ask_for_block_bytes(path));
      mount.block_bytes.store(bytes, std::memory_order_relaxed);
    }
    return bytes;
  }
  return name.starts_with('/') ? int64_t{kPage} : -1;
}

// --- the log

// A limit on files would end the process by SIGXFSZ.
uint64_t largest_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

struct Mapped {
  std::byte* memory = nullptr;  // null: it cannot be had
  size_t record_bytes = 0, segment_bytes = 0;
};

// As large as limits allow.
Mapped map_log(int fd) {
  for (int smaller = 0; smaller < 6; ++smaller) {
    const size_t records = kRecords >> smaller, segments = kSegments >> smaller;
    const size_t bytes = kHead + records + segments;
    if (bytes > largest_file()) continue;
    if (::syscall(SYS_ftruncate, fd, static_cast<off_t>(bytes)) != 0) continue;
    void* const memory = raw::map(bytes, fd);
    if (memory != MAP_FAILED) return {static_cast<std::byte*>(memory), records, segments};
  }
  return {};
}

}  // namespace

bool open_preload_folder(const char* folder) {
  if (folder == nullptr || *folder != '/' || std::strlen(folder) >= sizeof g_folder) return false;
  std::strcpy(g_folder, folder);
  std::snprintf(g_path, sizeof g_path, "%s/%s", g_folder, kPreloadCommonName);
  const int fd = raw::open(g_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  void* memory = MAP_FAILED;
  if (::syscall(SYS_lseek, fd, 0, SEEK_END) >= static_cast<off_t>(sizeof(PreloadCommon))) {
    memory = raw::map(sizeof(PreloadCommon), fd);
  }
  raw::close(fd);
  if (memory == MAP_FAILED) return false;
  auto* const common = static_cast<PreloadCommon*>(memory);
  if (common->magic != PreloadCommon::kMagic || common->layout != kPreloadLayout) {
    raw::unmap(memory, sizeof(PreloadCommon));
    return false;
  }
  g_common = common;
  return true;
}

PreloadLog* make_process_log(void (*heard)(HeardCall, FileRecord*, int64_t, CallTime)) {
  if (g_common == nullptr) return nullptr;
  const int64_t number = g_common->processes.fetch_add(1, std::memory_order_relaxed);
  std::snprintf(g_path, sizeof g_path, "%s/%ld.log", g_folder, static_cast<long>(number));
  const int fd = raw::open(g_path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return nullptr;
  const Mapped mapped = map_log(fd);
  raw::close(fd);
  if (mapped.memory == nullptr) return nullptr;
  const size_t bytes = kHead + mapped.record_bytes + mapped.segment_bytes;
  if (!make_usable(mapped.memory, kHead, 0)) {
    raw::unmap(mapped.memory, bytes);
    return nullptr;
  }
  // Another thread of a fork's parent may have been asking: its lock is held for ever in the child.
  std::construct_at(&g_records);
  std::construct_at(&g_segments);
  g_record_bytes = mapped.record_bytes;
  const RecorderSurroundings surroundings{.of = nullptr,
                                          .sees = sees,
                                          .block_bytes = block_bytes,
                                          .heard = heard,
                                          .process = ::getpid(),
                                          .begin_ns = g_common->begin_ns};
  PreloadLog* const log = std::construct_at(
      reinterpret_cast<PreloadLog*>(mapped.memory), mapped.memory + kHead, mapped.record_bytes,
      &records_ready, mapped.memory + kHead + mapped.record_bytes, mapped.segment_bytes,
      &segments_ready, surroundings);
  log->layout = kPreloadLayout;
  log->there = reinterpret_cast<uintptr_t>(mapped.memory);
  log->bytes = bytes;
  log->number = number;
  log->pid = ::getpid();
  log->magic.store(PreloadLog::kMagic, std::memory_order_release);
  return log;
}

void close_preload_folder() {
  raw::unmap(g_common, sizeof(PreloadCommon));
  g_common = nullptr;
}

bool preload_folder_is_in_use() {
  char path[PATH_MAX];
  std::snprintf(path, sizeof path, "%s/%s", g_folder, kPreloadCommonName);
  const int fd = raw::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool free = ::syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0;
  raw::close(fd);
  return !free;
}

void unmap_process_log(PreloadLog* log) { raw::unmap(log, log->bytes); }

}  // namespace stoker
