#if defined(__x86_64__)

#include "app/tools/inject/harmless_calls.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

// Calls on a descriptor.
constexpr int64_t kTransfers[] = {SYS_read,     SYS_write,   SYS_readv,   SYS_writev,   SYS_pread64,
                                  SYS_pwrite64, SYS_preadv,  SYS_pwritev, SYS_recvfrom, SYS_recvmsg,
                                  SYS_sendto,   SYS_sendmsg, SYS_accept,  SYS_accept4};
constexpr int64_t kWaits[] = {SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_nanosleep,
                              SYS_pause, SYS_clock_nanosleep, SYS_wait4, SYS_waitid,
                              SYS_rt_sigsuspend,
                              // one of these, or a futex, goes on to the end of its time
                              SYS_restart_syscall};
// These end with EINTR where they are interrupted, so others are better.
constexpr int64_t kInterrupted[] = {SYS_epoll_wait, SYS_epoll_pwait, SYS_rt_sigtimedwait};

bool is_one_of(int64_t number, const auto& numbers) {
  return std::ranges::find(numbers, number) != std::end(numbers);
}

bool is_regular_file(pid_t pid, uint64_t descriptor) {
  struct stat status {};
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, static_cast<int32_t>(descriptor));
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The call that a thread waits in, by /proc/PID/task/TID/syscall; absent: it runs, or may not be
// looked at.
std::optional<SystemCall> waits_in(pid_t pid, const std::string& thread) {
  std::optional<std::string> text;
  try {
    text = read_if_there(fmt::format("/proc/{}/task/{}/syscall", pid, thread));
  } catch (const IoError&) {
  }
  SystemCall call;
  if (!text ||
      std::sscanf(text->c_str(), "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &call.number,
                  &call.arguments[0], &call.arguments[1], &call.arguments[2]) != 4) {
    return std::nullopt;
  }
  return call;
}

}  // namespace

bool is_harmless(pid_t pid, const SystemCall& call, bool waiting) {
  if (is_one_of(call.number, kTransfers)) {
    return !waiting || !is_regular_file(pid, call.arguments[0]);
  }
  if (is_one_of(call.number, kWaits) || is_one_of(call.number, kInterrupted)) return true;
  // Conditions, semaphores and joins wait with a bit set; the C library's own locks, among them
  // those of the allocator and the loader, without one.
  return call.number == SYS_futex && waiting &&
         (call.arguments[1] & static_cast<uint64_t>(FUTEX_CMD_MASK)) == FUTEX_WAIT_BITSET;
}

std::vector<pid_t> threads_by_harmlessness(pid_t pid) {
  std::multimap<int, pid_t> order;
  std::error_code error;
  std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", pid), error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string thread = at->path().filename().string();
    const auto call = waits_in(pid, thread);
    const bool harmless = call && is_harmless(pid, *call, true);
    const int rank = !harmless ? 2 : is_one_of(call->number, kInterrupted) ? 1 : 0;
    order.emplace(rank, static_cast<pid_t>(std::atoi(thread.c_str())));
  }
  std::vector<pid_t> threads;
  for (const auto& [rank, thread] : order) threads.push_back(thread);
  return threads;
}

}  // namespace stoker

#endif
