#include "app/tools/run_program/watch/system_calls.h"

#include <sys/syscall.h>

#include <unordered_map>

namespace stoker {
namespace {

using What = CallKind::What;

// Calls that x86-64 has from old times, and no newer machine.
void add_old_calls(std::unordered_map<int64_t, CallKind>& calls) {
#ifdef SYS_open
  for (const int64_t number :
       {SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_unlink, SYS_rename, SYS_mkdir,
        SYS_rmdir, SYS_link, SYS_symlink, SYS_readlink, SYS_chmod, SYS_chown}) {
    calls[number] = {.what = What::path, .argument = 0};
  }
  calls[SYS_getdents] = {.what = What::descriptor};
  calls[SYS_poll] = {.what = What::poll};
  calls[SYS_select] = {.what = What::select};
  calls[SYS_epoll_wait] = {.what = What::epoll};
  calls[SYS_pause] = {.what = What::sleep};
#else
  (void)calls;
#endif
}

std::unordered_map<int64_t, CallKind> table_of_calls() {
  std::unordered_map<int64_t, CallKind> calls;
  for (const int64_t number : {SYS_read,       SYS_pread64,         SYS_readv,
                               SYS_preadv,     SYS_preadv2,         SYS_write,
                               SYS_pwrite64,   SYS_writev,          SYS_pwritev,
                               SYS_pwritev2,   SYS_fsync,           SYS_fdatasync,
                               SYS_getdents64, SYS_fstat,           SYS_ftruncate,
                               SYS_fallocate,  SYS_sync_file_range, SYS_copy_file_range,
                               SYS_splice,     SYS_close,           SYS_ioctl,
                               SYS_recvfrom,   SYS_recvmsg,         SYS_recvmmsg,
                               SYS_sendto,     SYS_sendmsg,         SYS_sendmmsg,
                               SYS_accept,     SYS_accept4,         SYS_connect,
                               SYS_readahead,  SYS_fadvise64,       SYS_lseek}) {
    calls[number] = {.what = What::descriptor, .argument = 0};
  }
  calls[SYS_sendfile] = {.what = What::descriptor, .argument = 1};
  for (const int64_t number :
       {SYS_openat, SYS_openat2, SYS_newfstatat, SYS_statx, SYS_unlinkat, SYS_mkdirat,
        SYS_faccessat, SYS_readlinkat, SYS_renameat2, SYS_linkat, SYS_fchmodat}) {
    calls[number] = {.what = What::path, .argument = 1};
  }
  calls[SYS_symlinkat] = {.what = What::path, .argument = 2};
  for (const int64_t number : {SYS_statfs, SYS_truncate, SYS_execve}) {
    calls[number] = {.what = What::path, .argument = 0};
  }
  for (const int64_t number :
       {SYS_io_getevents, SYS_io_submit, SYS_io_uring_enter, SYS_sync, SYS_syncfs}) {
    calls[number] = {.what = What::file};
  }
  for (const int64_t number : {SYS_futex, SYS_semop, SYS_semtimedop, SYS_flock, SYS_fcntl}) {
    calls[number] = {.what = What::lock};
  }
  for (const int64_t number :
       {SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigtimedwait, SYS_rt_sigsuspend}) {
    calls[number] = {.what = What::sleep};
  }
  for (const int64_t number : {SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_brk, SYS_madvise,
                               SYS_msync, SYS_clone, SYS_exit_group}) {
    calls[number] = {.what = What::memory};
  }
  calls[SYS_ppoll] = {.what = What::poll};
  calls[SYS_pselect6] = {.what = What::select};
  calls[SYS_epoll_pwait] = {.what = What::epoll};
#ifdef SYS_epoll_pwait2
  calls[SYS_epoll_pwait2] = {.what = What::epoll};
#endif
  calls[SYS_wait4] = {.what = What::children};
  calls[SYS_waitid] = {.what = What::children};
  add_old_calls(calls);
  return calls;
}

}  // namespace

CallKind kind_of_call(int64_t number) {
  static const std::unordered_map<int64_t, CallKind> calls = table_of_calls();
  const auto found = calls.find(number);
  return found == calls.end() ? CallKind{} : found->second;
}

}  // namespace stoker
