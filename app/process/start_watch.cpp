#include "app/process/start_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "app/process/failure.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

// A system call on a file: which of its arguments is the path, or the open file.
struct FileSystemCall {
  long number;
  const char* name;
  size_t argument;
  bool open = false;  // the argument is a descriptor
};
constexpr FileSystemCall kCalls[] = {
#ifdef SYS_open  // what older kinds of processor have beside the newer calls
    {SYS_open, "open", 0},
    {SYS_stat, "look at", 0},
    {SYS_lstat, "look at", 0},
    {SYS_access, "look at", 0},
    {SYS_readlink, "look at", 0},
    {SYS_mkdir, "make directory", 0},
    {SYS_rename, "rename", 1},
    {SYS_symlink, "link", 1},
    {SYS_unlink, "remove", 0},
    {SYS_rmdir, "remove", 0},
#endif
    {SYS_openat, "open", 1},
    {SYS_newfstatat, "look at", 1},
    {SYS_statx, "look at", 1},
    {SYS_faccessat, "look at", 1},
    {SYS_readlinkat, "look at", 1},
    {SYS_statfs, "look at", 0},
    {SYS_mkdirat, "make directory", 1},
    {SYS_renameat2, "rename", 3},
    {SYS_symlinkat, "link", 2},
    {SYS_unlinkat, "remove", 1},
    {SYS_fstat, "look at", 0, true},
    {SYS_fstatfs, "look at", 0, true},
    {SYS_getdents64, "list", 0, true},
    {SYS_read, "read", 0, true},
    {SYS_pread64, "read", 0, true},
    {SYS_readv, "read", 0, true},
    {SYS_preadv, "read", 0, true},
    {SYS_write, "write", 0, true},
    {SYS_pwrite64, "write", 0, true},
    {SYS_writev, "write", 0, true},
    {SYS_fsync, "sync", 0, true},
    {SYS_fdatasync, "sync", 0, true},
    {SYS_ftruncate, "truncate", 0, true},
    {SYS_fallocate, "reserve space for", 0, true},
    {SYS_fcntl, "lock", 0, true},
    {SYS_flock, "lock", 0, true},
    {SYS_close, "close", 0, true}};

// A path in our own memory, which its thread may change or free at any time.
std::string text_at(uint64_t address) {
  const FileDescriptor memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  std::array<char, PATH_MAX> text{};
  const ssize_t count =
      ::pread(memory.get(), text.data(), text.size() - 1, static_cast<off_t>(address));
  return count > 0 ? text.data() : "";
}

// "open /mnt/data/a.jpg" of "257 0xffffff9c 0x7f52 ...". Absent: it is no call on a file.
std::optional<std::string> file_call(std::string_view text) {
  const std::vector<std::string_view> words = proc::split(text, ' ');
  const auto number = words.empty() ? std::nullopt : proc::number(words[0]);
  const auto* const call = std::ranges::find(kCalls, static_cast<long>(number.value_or(UINT32_MAX)),
                                             &FileSystemCall::number);
  if (call == std::end(kCalls) || words.size() <= call->argument + 1) return std::nullopt;
  const uint64_t argument =
      std::strtoull(std::string(words[call->argument + 1]).c_str(), nullptr, 16);
  std::string path;
  if (call->open) {
    std::error_code ignored;
    path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", argument), ignored);
    // A pipe, a socket; a terminal that somebody holds.
    if (!path.starts_with('/') || path.starts_with("/dev/")) return std::nullopt;
  } else {
    path = text_at(argument);
  }
  return fmt::format("{} {}", call->name, path);
}

}  // namespace

StartWatch::StartWatch(double hang_seconds)
    : hang_seconds_(hang_seconds),
      pause_(std::min(1.0, hang_seconds / 4)),
      starter_(std::to_string(::gettid())),
      ticker_("start-watch", std::chrono::duration<double>(pause_), [this] { look(); }) {}

StartWatch::~StartWatch() = default;

void StartWatch::look() {
  std::map<std::string, Seen> now;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string thread = task.path().filename();
    const auto call = proc::read(task.path().string() + "/syscall");
    const auto time = proc::read(task.path().string() + "/schedstat");
    if (!call || !time) continue;
    const std::string seen = *call + *time;
    const auto before = threads_.find(thread);
    const bool same = before != threads_.end() && before->second.call == seen;
    now[thread] = {seen, same ? before->second.looks + 1 : 0};
  }
  threads_ = std::move(now);
  const auto hangs = [&](const std::string& thread) {
    const auto found = threads_.find(thread);
    return found != threads_.end() &&
           pause_ * static_cast<double>(found->second.looks) >= hang_seconds_;
  };
  if (!hangs(starter_)) return;
  for (const auto& [thread, seen] : threads_) {
    const std::optional<std::string> call = hangs(thread) ? file_call(seen.call) : std::nullopt;
    if (call) give_up(*call);
  }
}

void StartWatch::give_up(const std::string& call) const {
  end_now(Error(ExitCode::storage,
                fmt::format("{}: no answer for {:g} s while the run starts: see whether its file "
                            "system is there, or wait longer by run.hang_seconds",
                            call, hang_seconds_)));
}

}  // namespace stoker
