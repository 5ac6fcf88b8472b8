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
#include "io/core/file.h"

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
  // A benchmark that nobody waits for any more would only disturb the next one.
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

// Its exit code, or 128 + the signal that ended it.
int wait_for(pid_t child) {
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  // Workers that it left behind; before the wait below, after which the number may be another's.
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Where to read, and where to write.
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

// This process's own, where `added` does not replace it, and `added`.
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

// Until the other end is closed.
std::string read_all(int from, pid_t child, const std::function<bool()>& stop_requested) {
  std::string output;
  bool stopped = false;
  std::array<char, 1 << 16> buffer;
  while (true) {
    if (!stopped && stop_requested && stop_requested()) {
      ::kill(-child, SIGTERM);
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

ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested,
                      const std::vector<std::string>& environment) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), "stoker");
  std::vector<std::string> all = environment_with(environment);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> variables = pointers(all);
  auto [ours, theirs] = make_pipe();
  auto [failure, failed] = make_pipe();
  const FileDescriptor errors = open_file("write", log, O_WRONLY | O_CREAT | O_APPEND);
  const Start start{kThisProgram, argv.data(),  variables.data(), theirs.get(),
                    errors.get(), failed.get(), ::getpid()};
  const pid_t child = ::fork();
  if (child < 0) throw_errno("start", "a process", errno);
  if (child == 0) become(start);
  ::setpgid(child, child);  // whoever comes first: a stop may be asked for at once
  theirs = FileDescriptor();
  failed = FileDescriptor();
  ChildResult result;
  result.output = read_all(ours.get(), child, stop_requested);
  result.exit_code = wait_for(child);
  int error = 0;
  if (::read(failure.get(), &error, sizeof error) == sizeof error) {
    throw_errno("start", kThisProgram, error);
  }
  return result;
}

}  // namespace stoker
