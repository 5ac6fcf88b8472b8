#include "app/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "io/core/error.h"
#include "io/core/file.h"

namespace stoker {
namespace {

constexpr int kPollMs = 100;
constexpr int kCannotStart = 127;

// The child's side; only calls that are safe between fork and exec.
[[noreturn]] void become(char* const* argv, int output, int log, pid_t parent) {
  // A benchmark that nobody waits for any more would only disturb the next one.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent && ::dup2(output, STDOUT_FILENO) >= 0 &&
      ::dup2(log, STDERR_FILENO) >= 0) {
    ::execv("/proc/self/exe", argv);
  }
  ::_exit(kCannotStart);
}

// Until the other end is closed.
std::string read_all(int from, pid_t child, const std::function<bool()>& stop_requested) {
  std::string output;
  bool stopped = false;
  std::array<char, 1 << 16> buffer;
  while (true) {
    if (!stopped && stop_requested && stop_requested()) {
      ::kill(child, SIGTERM);
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
                      const std::function<bool()>& stop_requested) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), "stoker");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("start", "a process", errno);
  FileDescriptor ours(ends[0]), theirs(ends[1]);
  const FileDescriptor errors = open_file("write", log, O_WRONLY | O_CREAT | O_APPEND);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw_errno("start", "a process", errno);
  if (child == 0) become(argv.data(), theirs.get(), errors.get(), parent);
  theirs = FileDescriptor();
  ChildResult result;
  result.output = read_all(ours.get(), child, stop_requested);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotStart) {
    throw_errno("start", "/proc/self/exe", ENOEXEC);
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace stoker
