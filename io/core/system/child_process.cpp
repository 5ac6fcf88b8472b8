#include "io/core/system/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
// Names the process that a child of ours must not outlive.
constexpr const char* kStarter = "STOKER_STARTER";
constexpr int kPollMs = 100;

// The ends of a pipe: where to read, and where to write.
std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("start", "a process", errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// What posix_spawn(3) is told beside the program and its words.
class SpawnSettings {
 public:
  explicit SpawnSettings(const ProcessStart& start) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    for (const auto& [there, here] : start.descriptors) {
      if (here < 0) {
        ::posix_spawn_file_actions_addopen(&files_, there, "/dev/null", O_WRONLY, 0);
      } else {
        ::posix_spawn_file_actions_adddup2(&files_, here, there);
      }
    }
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : start.blocked) ::sigaddset(&signals, signal);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_,
                               static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  (start.group ? POSIX_SPAWN_SETPGROUP : 0)));
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

// Reads until the other end is closed.
std::string read_all(int from, const ChildProcess& child,
                     const std::function<bool()>& stop_requested) {
  std::string output;
  bool stopped = false;
  std::array<char, 1 << 16> buffer;
  while (true) {
    if (!stopped && stop_requested && stop_requested()) {
      child.signal(SIGTERM);
      stopped = true;
    }
    pollfd waiting{from, POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0) continue;
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return output;
    output.append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace

ChildProcess::ChildProcess(const ProcessStart& start) : group_(start.group) {
  std::vector<std::string> words = start.arguments;
  words.insert(words.begin(), start.program == kThisProgram ? "stoker" : start.program);
  const SpawnSettings settings(start);
  const int error =
      ::posix_spawnp(&pid_, start.program.c_str(), settings.files(), settings.attributes(),
                     exec_strings(words).data(), exec_strings(start.environment).data());
  if (error != 0) throw_errno("start", start.program, error);
}

ChildProcess::~ChildProcess() {
  if (exit_code_) return;
  signal(SIGKILL);
  wait();
}

void ChildProcess::signal(int number) const { ::kill(group_ ? -pid_ : pid_, number); }

std::optional<int> ChildProcess::ended() {
  reap(WNOHANG);
  return exit_code_;
}

int ChildProcess::wait() {
  while (!exit_code_) reap(0);
  return *exit_code_;
}

void ChildProcess::reap(int options) {
  siginfo_t ended{};
  if (exit_code_ ||
      ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT | options) < 0 ||
      ended.si_pid == 0) {
    return;
  }
  // Kills workers that it left behind. This comes before the wait below, after which the number may
  // belong to another group.
  if (group_) signal(SIGKILL);
  int status = 0;
  uninterrupted([&] { return ::waitpid(pid_, &status, 0); });
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<char*> exec_strings(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> result = added;
  for (char** own = environ; *own != nullptr; ++own) {
    const std::string_view variable = *own;
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return other.starts_with(name);
    });
    if (!replaced) result.emplace_back(variable);
  }
  return result;
}

ProcessStart this_program(std::vector<std::string> arguments,
                          const std::vector<std::string>& environment, int output, int log) {
  std::vector<std::string> added = environment;
  added.push_back(std::string(kStarter) + "=" + std::to_string(::getpid()));
  return {kThisProgram,
          std::move(arguments),
          environment_with(added),
          {{STDOUT_FILENO, output}, {STDERR_FILENO, log}},
          true};
}

// posix_spawn(3) cannot ask for it on behalf of the child.
void die_with_starter() {
  const char* const starter = std::getenv(kStarter);
  if (starter == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the parent dies, nobody waits for this process any more. It would only disturb the next
  // benchmark.
  if (std::to_string(::getppid()) != starter) ::raise(SIGKILL);
  ::unsetenv(kStarter);
}

void end_with_starter() {
  int signal = 0;
  if (::prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal != 0) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
}

ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested,
                      const std::vector<std::string>& environment) {
  auto [ours, theirs] = make_pipe();
  const FileDescriptor errors = open_file("write", log, O_WRONLY | O_CREAT | O_APPEND);
  ChildProcess child(this_program(arguments, environment, theirs.get(), errors.get()));
  theirs = FileDescriptor();
  ChildResult result;
  result.output = read_all(ours.get(), child, stop_requested);
  result.exit_code = child.wait();
  return result;
}

}  // namespace stoker
