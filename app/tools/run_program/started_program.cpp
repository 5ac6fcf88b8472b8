#include "app/tools/run_program/started_program.h"

#include <elf.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "io/core/error.h"
#include "io/core/system/child_process.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr auto kNotFound = static_cast<ExitCode>(127);
constexpr auto kNotExecutable = static_cast<ExitCode>(126);
constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// --- which file

bool is_file(const std::string& path) {
  struct stat what {};
  return ::stat(path.c_str(), &what) == 0 && S_ISREG(what.st_mode);
}

bool can_execute(const std::string& path) {
  return is_file(path) && ::access(path.c_str(), X_OK) == 0;
}

// --- what is in it

// The interpreter of a script, and the word behind it: "#!/usr/bin/env python3".
std::vector<std::string> script_line(std::ifstream& file) {
  std::string line;
  std::getline(file, line);
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2));
  std::vector<std::string> found;
  for (std::string word; words >> word;) found.push_back(word);
  return found;
}

std::string why_not_elf(std::ifstream& file) {
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
#if defined(__x86_64__)
  constexpr auto kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr auto kMachine = EM_AARCH64;
#else
#error "stoker run knows x86-64 and AArch64"
#endif
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    return "it is a program of another architecture";
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * uint64_t{header.e_phentsize}));
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    if (!file) return {};
    if (part.p_type != PT_INTERP) continue;
    std::string loader(std::min<uint64_t>(part.p_filesz, 4096), '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    file.read(loader.data(), static_cast<std::streamsize>(loader.size()));
    if (loader.find("musl") != std::string::npos) return "it is linked with musl, not with glibc";
    return {};
  }
  return "static programs cannot be counted";
}

// --- signals

// The program, for the handler.
std::atomic<pid_t> g_program{0};

void pass_on(int number, siginfo_t* info, void*) {
  const int error = errno;
  // What the kernel sends (the terminal) reaches the program as well, in the same group.
  const bool of_a_process = info->si_code <= 0;
  const pid_t program = g_program.load(std::memory_order_relaxed);
  if (of_a_process && program > 0) ::kill(program, number);
  errno = error;
}

std::map<int, struct sigaction>& former_handlers() {
  static std::map<int, struct sigaction> former;
  return former;
}

void take_signals() {
  for (const int number : kPassedOn) {
    struct sigaction old {};
    ::sigaction(number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;  // nohup: the program ignores it as well
    struct sigaction mine {};
    mine.sa_sigaction = pass_on;
    mine.sa_flags = SA_SIGINFO | SA_RESTART;
    former_handlers()[number] = old;
    ::sigaction(number, &mine, nullptr);
  }
}

void give_signals_back() {
  for (const auto& [number, old] : former_handlers()) ::sigaction(number, &old, nullptr);
  former_handlers().clear();
}

// While it lives, signals that are to be passed on wait: until it is known to whom.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int number : kPassedOn) ::sigaddset(&held, number);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

// blocked: the signals that it begins with blocked. Those that this program ignores, and the
// started one need not, are as they are by default.
int spawn(pid_t& pid, const std::string& path, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, const sigset_t& blocked) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGPIPE);
  ::sigaddset(&signals, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int error = ::posix_spawn(&pid, path.c_str(), nullptr, &attributes,
                                  exec_strings(words).data(), exec_strings(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

std::string find_program(const std::string& program) {
  const auto not_executable = [&](const std::string& path) {
    return Error(kNotExecutable, printable(path) + ": cannot be executed: is it a program?");
  };
  if (program.find('/') != std::string::npos) {
    if (can_execute(program)) return program;
    if (::access(program.c_str(), F_OK) == 0) throw not_executable(program);
    throw Error(kNotFound, printable(program) + ": there is no such program: check its path");
  }
  const char* const variable = std::getenv("PATH");
  std::istringstream folders(variable == nullptr ? "/usr/bin:/bin" : variable);
  std::string found;
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + '/' + program;
    if (can_execute(path)) return path;
    if (is_file(path)) found = path;
  }
  if (!found.empty()) throw not_executable(found);
  throw Error(kNotFound, printable(program) +
                             ": there is no such program in PATH: give its path, or install it");
}

std::string why_not_preloaded(const std::string& path) {
  constexpr int kMostInterpreters = 4;
  std::string at = path;
  for (int depth = 0; depth < kMostInterpreters; ++depth) {
    struct stat what {};
    if (::stat(at.c_str(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
    const bool gains = (what.st_mode & (S_ISUID | S_ISGID)) != 0 && ::geteuid() != 0;
    if (gains) return "it is a program with rights of its own (setuid)";
    std::ifstream file(at, std::ios::binary);
    std::vector<std::string> script = script_line(file);
    if (script.empty()) {
      file.clear();
      file.seekg(0);
      return why_not_elf(file);
    }
    const bool by_env = script[0].ends_with("/env") && script.size() > 1 && script[1][0] != '-';
    at = by_env ? find_program(script[1]) : script[0];
  }
  return {};
}

StartedProgram::StartedProgram(const std::string& path, const std::vector<std::string>& words,
                               const std::vector<std::string>& environment) {
  take_signals();
  const HeldSignals held;
  int error = spawn(pid_, path, words, environment, held.before());
  if (error == ENOEXEC) {  // a script without a first line, as shells have it
    std::vector<std::string> by_shell{"sh", path};
    by_shell.insert(by_shell.end(), words.begin() + 1, words.end());
    error = spawn(pid_, "/bin/sh", by_shell, environment, held.before());
  }
  if (error != 0) {
    give_signals_back();
    throw Error(kNotExecutable,
                fmt::format("{}: cannot be executed: {}", printable(path), std::strerror(error)));
  }
  g_program = pid_;
}

StartedProgram::~StartedProgram() {
  if (!exit_code_) {
    ::kill(pid_, SIGKILL);
    while (!exit_code_) reap();
  }
  g_program = 0;
  give_signals_back();
}

void StartedProgram::reap() {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, 0);
  if (ended < 0 && errno == EINTR) return;
  if (ended < 0) {
    exit_code_ = static_cast<int>(ExitCode::bug);  // somebody else has waited for it
  } else if (WIFEXITED(status)) {
    exit_code_ = WEXITSTATUS(status);
  } else if (WIFSIGNALED(status)) {
    exit_code_ = 128 + WTERMSIG(status);
  }
}

std::optional<int> StartedProgram::wait_for(int milliseconds) {
  if (exit_code_) return exit_code_;
  // Debian 12's <sys/pidfd.h> declares pidfd_open() for C alone.
  if (!descriptor_) {
    descriptor_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  if (!descriptor_) throw_errno("watch", "the program", errno);
  pollfd ended{descriptor_.get(), POLLIN, 0};
  if (::poll(&ended, 1, milliseconds) > 0) reap();
  return exit_code_;
}

}  // namespace stoker
