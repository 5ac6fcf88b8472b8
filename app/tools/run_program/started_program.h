#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "io/core/system/file.h"

namespace stoker {

// The file that the word `program` means: looked for in PATH where it has no slash. Error(127) if
// there is none, Error(126) if it cannot be executed.
std::string find_program(const std::string& program);

// Why a library cannot be preloaded into the executable at `path`, as the end of a sentence ("it is
// a static program"). Of a script, its interpreter is looked at. Empty: nothing speaks against it.
std::string why_not_preloaded(const std::string& path);

// A program that runs in the foreground in place of this one: it has this process's standard
// streams, group and terminal. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 that are sent
// to this process are passed on while it lives; what the terminal sends to the whole group is not
// sent twice. One at a time; one thread.
class StartedProgram {
 public:
  // path: what is executed; words: with the program's name; environment: NAME=value, all of them.
  // Error(126) where the kernel refuses to execute it.
  StartedProgram(const std::string& path, const std::vector<std::string>& words,
                 const std::vector<std::string>& environment);
  // Kills it where it still runs.
  ~StartedProgram();
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;

  pid_t pid() const { return pid_; }
  // Waits for at most this long, or until a signal comes. Its exit code, or 128 + signal; absent:
  // it still runs. IoError where the kernel has no pidfd_open(2).
  std::optional<int> wait_for(int milliseconds);

 private:
  void reap();

  pid_t pid_ = -1;
  FileDescriptor descriptor_;
  std::optional<int> exit_code_;
};

}  // namespace stoker
