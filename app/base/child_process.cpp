#include "app/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr int kPollMs = 100;

struct Start {
  const char* path;
  char* const* argv;
  char* const* environment;
  int output;
  int log;
  int failure;  // gets the errno where it cannot start; closed where it does
  pid_t parent;
};

// The child's side; only calls that are safe between fork and exec.
[[noreturn]] void become(const Start& start) {
  // If the parent dies, nobody waits for this process any more. It would only disturb the next
  // benchmark.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  if (::getppid() == start.parent && ::dup2(start.output, STDOUT_FILENO) >= 0 &&
      ::dup2(start.log, STDERR_FILENO) >= 0) {
    ::execve(start.path, start.argv, start.environment);
  }
  const int error = errno;
  const ssize_t told = ::write(start.failure, &error, sizeof error);
  ::_exit(told == sizeof error ? 127 : 126);
}

// The ends of a pipe: where to read, and where to write.
std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("start", "a process", errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// For exec: the strings must stay as they are.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// The environment of this process with `added`, which replaces variables of the same name.
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

ChildProcess::ChildProcess(std::vector<std::string> arguments,
                           const std::vector<std::string>& environment, int output, int log) {
  arguments.insert(arguments.begin(), "stoker");
  std::vector<std::string> all = environment_with(environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> variables = pointers(all);
  auto [failure, failed] = make_pipe();
  const Start start{kThisProgram, argv.data(),  variables.data(), output,
                    log,          failed.get(), ::getpid()};
  pid_ = ::fork();
  if (pid_ < 0) throw_errno("start", "a process", errno);
  if (pid_ == 0) become(start);
  ::setpgid(pid_, pid_);  // whoever comes first: a signal may be sent at once
  failed = FileDescriptor();
  int error = 0;
  if (::read(failure.get(), &error, sizeof error) != sizeof error) return;
  wait();
  throw_errno("start", kThisProgram, error);
}

ChildProcess::~ChildProcess() {
  if (exit_code_) return;
  signal(SIGKILL);
  wait();
}

void ChildProcess::signal(int number) const { ::kill(-pid_, number); }

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
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested,
                      const std::vector<std::string>& environment) {
  auto [ours, theirs] = make_pipe();
  const FileDescriptor errors = open_file("write", log, O_WRONLY | O_CREAT | O_APPEND);
  ChildProcess child(arguments, environment, theirs.get(), errors.get());
  theirs = FileDescriptor();
  ChildResult result;
  result.output = read_all(ours.get(), child, stop_requested);
  result.exit_code = child.wait();
  return result;
}

}  // namespace stoker
