#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

// How a process is started. A value.
struct ProcessStart {
  // Looked for in PATH where it has no slash.
  std::string program;
  // Without the program's own name.
  std::vector<std::string> arguments = {};
  // NAME=value, all of them.
  std::vector<std::string> environment = {};
  // Its descriptors, put in their places in this order: number there, number here; -1 here is
  // /dev/null. It has 0, 1 and 2 of this process besides.
  std::vector<std::pair<int, int>> descriptors = {};
  // It leads a process group: signals reach the processes that it started as well, and those that
  // it leaves behind are killed.
  bool group = false;
  // It begins with these signals blocked, and with no others.
  std::vector<int> blocked = {};
};

// Another process. Started by posix_spawn(3): fork() would copy
// the page tables of a process that holds a data set. One thread.
class ChildProcess {
 public:
  // IoError if it cannot start.
  explicit ChildProcess(const ProcessStart& start);
  // Kills what still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number) const;
  // Its exit code, or 128 + signal if a signal ended it. Empty while it runs.
  std::optional<int> ended();
  // Waits for it and returns its exit code.
  int wait();

 private:
  void reap(int options);

  const bool group_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// What exec(3) and posix_spawn(3) take: pointers into `words`, which must stay as they are, and a
// null pointer.
std::vector<char*> exec_strings(const std::vector<std::string>& words);

// This process's own environment with these NAME=value added, or in the place of its own.
std::vector<std::string> environment_with(const std::vector<std::string>& added);

// This program once more, with other arguments ("train", "a.yaml", ...). It leads a process group,
// and dies with the thread that starts it (die_with_starter()). output, log: descriptors in the
// place of standard output and error.
ProcessStart this_program(std::vector<std::string> arguments,
                          const std::vector<std::string>& environment, int output, int log);

// In a process that this_program() describes: from now on it is killed when the thread that started
// it ends. In others it does nothing. Call it first in main().
void die_with_starter();

// Where die_with_starter() had an effect, it is a SIGTERM from now on: for a program that has
// something to undo.
void end_with_starter();

// How another process of this program ended.
struct ChildResult {
  int exit_code = 0;   // 128 + signal where a signal ended it
  std::string output;  // what it printed on standard output
};

// Runs this_program() and waits. Its standard error goes into the file `log` (appended to), its
// standard output comes back. stop_requested is asked ten times a second: once true, the child gets
// a SIGTERM, and is waited for. IoError where it cannot start.
ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested = {},
                      const std::vector<std::string>& environment = {});

}  // namespace stoker
