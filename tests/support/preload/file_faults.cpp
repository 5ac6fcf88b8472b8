#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Preloaded into a program (file_faults.py does it): every system call on a file below a folder is
// written down, or one of them fails. It is the kernel that stops the program before the call
// (seccomp), so calls of all libraries count, those inside of the C library included. x86-64 only.
//
//   FAULTS_UNDER   the folder
//   FAULTS_LOG     a file outside of it: a line "call path" for each call, or for the one that
//                  failed; paths are relative to the folder
//   FAULTS_STRIKE  "call skip errno path": the call of that name whose path is like that one ("*"
//   is
//                  any text), after `skip` others of them. errno 0: it does half of what is asked.
//                  Without it all calls are written down.

extern "C" long faults_call(long number, const long* arguments);
extern "C" const char faults_return[];
asm(R"(
  .text
  .hidden faults_call
  .globl faults_call
  .type faults_call, @function
faults_call:
  movq %rdi, %rax
  movq %rsi, %r11
  movq 0(%r11), %rdi
  movq 8(%r11), %rsi
  movq 16(%r11), %rdx
  movq 24(%r11), %r10
  movq 32(%r11), %r8
  movq 40(%r11), %r9
  syscall
  .hidden faults_return
  .globl faults_return
faults_return:
  ret
)");

namespace {

constexpr int kNone = -1;

// Which arguments of a call say what it is on. directory: a descriptor that a relative path begins
// at, or, without a path, the file itself.
struct Traced {
  long number;
  const char* name;
  int path;
  int directory;
};
constexpr Traced kTraced[] = {
    {SYS_open, "open", 0, kNone},         {SYS_openat, "open", 1, 0},
    {SYS_read, "read", kNone, 0},         {SYS_pread64, "read", kNone, 0},
    {SYS_readv, "read", kNone, 0},        {SYS_preadv, "read", kNone, 0},
    {SYS_write, "write", kNone, 0},       {SYS_pwrite64, "write", kNone, 0},
    {SYS_writev, "write", kNone, 0},      {SYS_pwritev, "write", kNone, 0},
    {SYS_fsync, "sync", kNone, 0},        {SYS_fdatasync, "sync", kNone, 0},
    {SYS_rename, "rename", 1, kNone},     {SYS_renameat, "rename", 3, 2},
    {SYS_renameat2, "rename", 3, 2},      {SYS_symlink, "link", 1, kNone},
    {SYS_symlinkat, "link", 2, 1},        {SYS_unlink, "remove", 0, kNone},
    {SYS_unlinkat, "remove", 1, 0},       {SYS_rmdir, "remove", 0, kNone},
    {SYS_mkdir, "mkdir", 0, kNone},       {SYS_mkdirat, "mkdir", 1, 0},
    {SYS_close, "close", kNone, 0},       {SYS_stat, "stat", 0, kNone},
    {SYS_lstat, "stat", 0, kNone},        {SYS_fstat, "stat", kNone, 0},
    {SYS_newfstatat, "stat", 1, 0},       {SYS_statx, "stat", 1, 0},
    {SYS_access, "stat", 0, kNone},       {SYS_faccessat, "stat", 1, 0},
    {SYS_getdents64, "list", kNone, 0},   {SYS_fcntl, "fcntl", kNone, 0},
    {SYS_ftruncate, "reserve", kNone, 0}, {SYS_fallocate, "reserve", kNone, 0}};
constexpr size_t kCalls = sizeof kTraced / sizeof *kTraced;

// Set before the first call is stopped.
char under[PATH_MAX];
size_t under_length;
int log_file;
char wanted_call[16];
char wanted_path[PATH_MAX];
int wanted_error = -1;  // none: nothing fails
std::atomic<long> skip;

long plain(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  const long arguments[6] = {a, b, c, d, 0, 0};
  return faults_call(number, arguments);
}

// What the kernel calls an open file, or a directory of ours.
size_t name_of(long descriptor, char* name) {
  char link[40] = "/proc/self/";
  if (static_cast<int>(descriptor) == AT_FDCWD) {
    std::strcat(link, "cwd");
  } else {
    std::strcat(link, "fd/");
    char digits[16];
    size_t count = 0;
    for (auto left = static_cast<unsigned>(descriptor); left > 0 || count == 0; left /= 10) {
      digits[count++] = static_cast<char>('0' + left % 10);
    }
    char* end = link + std::strlen(link);
    while (count > 0) *end++ = digits[--count];
    *end = '\0';
  }
  const long length =
      plain(SYS_readlink, reinterpret_cast<long>(link), reinterpret_cast<long>(name), PATH_MAX - 1);
  name[length > 0 ? length : 0] = '\0';
  return length > 0 ? static_cast<size_t>(length) : 0;
}

// The path of a call from the root; empty where it is on no file.
void locate(const Traced& call, const long* arguments, char* path) {
  const char* given = call.path == kNone ? "" : reinterpret_cast<const char*>(arguments[call.path]);
  size_t length = 0;
  path[0] = '\0';
  if (given == nullptr) return;
  if (*given != '/') {
    length = name_of(call.directory == kNone ? AT_FDCWD : arguments[call.directory], path);
    if (length == 0) return;
    if (*given != '\0') path[length++] = '/';
  }
  if (length + std::strlen(given) < PATH_MAX) std::strcpy(path + length, given);
}

// '*' stands for any text.
bool is_like(const char* text, const char* pattern) {
  const char* star = nullptr;
  const char* retry = text;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = pattern++;
      retry = text;
    } else if (*pattern == *text) {
      ++pattern, ++text;
    } else if (star != nullptr) {
      pattern = star + 1;
      text = ++retry;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == '\0';
}

void note(const char* name, const char* path) {
  char line[PATH_MAX + 32];
  std::strcpy(line, name);
  std::strcat(line, " ");
  std::strcat(line, path);
  std::strcat(line, "\n");
  plain(SYS_write, log_file, reinterpret_cast<long>(line), static_cast<long>(std::strlen(line)));
}

long struck(const Traced& call, long* arguments) {
  // Linux closes a descriptor whatever close() says.
  if (call.number == SYS_close) faults_call(call.number, arguments);
  if (wanted_error != 0) return -wanted_error;
  arguments[2] -= arguments[2] / 2;
  return faults_call(call.number, arguments);
}

long answer(long number, long* arguments) {
  const Traced* call = kTraced;
  while (call->number != number) ++call;
  char path[PATH_MAX];
  locate(*call, arguments, path);
  const bool inside = std::strncmp(path, under, under_length) == 0 &&
                      (path[under_length] == '/' || path[under_length] == '\0');
  const bool control = number == SYS_fcntl && arguments[1] != F_OFD_SETLK;
  if (!inside || control) return faults_call(number, arguments);
  const char* relative = path + under_length + (path[under_length] == '/' ? 1 : 0);
  const char* name = call->name;
  const bool opens = number == SYS_open || number == SYS_openat;
  if (opens && (arguments[number == SYS_open ? 1 : 2] & O_CREAT) != 0) name = "create";
  if (wanted_error < 0) {
    note(name, relative);
  } else if (std::strcmp(name, wanted_call) == 0 && is_like(relative, wanted_path) && skip-- == 0) {
    note(name, relative);
    return struck(*call, arguments);
  }
  return faults_call(number, arguments);
}

void stopped(int, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                       registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  registers[REG_RAX] = answer(info->si_syscall, arguments);
}

// Lets our own calls through, and stops the others of kTraced. io_uring, which would read past
// them, is refused: then files are read by calls.
bool stop_calls() {
  constexpr uint32_t kFrom = offsetof(seccomp_data, instruction_pointer);
  const auto here = reinterpret_cast<uint64_t>(faults_return);
  sock_filter filter[kCalls + 10] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFrom),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(here), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFrom + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(here >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
  sock_filter* next = filter + 8;
  for (size_t i = 0; i < kCalls; ++i) {
    const auto to_the_end = static_cast<uint8_t>(kCalls - i);
    *next++ = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(kTraced[i].number),
                       to_the_end, 0);
  }
  *next++ = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  *next++ = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  struct sigaction action = {};
  action.sa_sigaction = stopped;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return false;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const sock_fprog program{static_cast<unsigned short>(next - filter), filter};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

void refuse(const char* why) {
  static_cast<void>(!::write(STDERR_FILENO, why, std::strlen(why)));
  ::_exit(125);
}

__attribute__((constructor)) void begin() {
  const char* folder = std::getenv("FAULTS_UNDER");
  const char* log = std::getenv("FAULTS_LOG");
  const char* strike = std::getenv("FAULTS_STRIKE");
  if (folder == nullptr || log == nullptr) return;
  if (::realpath(folder, under) == nullptr) refuse("FAULTS_UNDER is no folder\n");
  under_length = std::strlen(under);
  const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  log_file = ::fcntl(file, F_DUPFD_CLOEXEC, 200);
  if (log_file < 0) refuse("FAULTS_LOG cannot be opened\n");
  ::close(file);
  if (strike != nullptr) {
    long before = 0;
    if (std::sscanf(strike, "%15s %ld %d %4095s", wanted_call, &before, &wanted_error,
                    wanted_path) != 4) {
      refuse("FAULTS_STRIKE: call skip errno path\n");
    }
    skip = before;
  }
  if (!stop_calls()) refuse("seccomp is refused\n");
}

}  // namespace
