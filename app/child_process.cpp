#include "app/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
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

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

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
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("start", "a process", errno);
  FileDescriptor ours(ends[0]), theirs(ends[1]);
  SpawnActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0666);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, "/proc/self/exe", actions.get(), nullptr, argv.data(), environ);
  if (error != 0) throw_errno("start", "/proc/self/exe (with its log in " + log + ")", error);
  theirs = FileDescriptor();
  ChildResult result;
  result.output = read_all(ours.get(), child, stop_requested);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace stoker
