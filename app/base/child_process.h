#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// Another process of this program. It dies with the thread that started it, and leads a process
// group: signals reach the processes that it started as well. One thread.
class ChildProcess {
 public:
  // Runs `arguments` ("train", "a.yaml", ...). environment: NAME=value, besides this process's own.
  // output, log: descriptors that become its standard output and error. IoError if it cannot start.
  ChildProcess(std::vector<std::string> arguments, const std::vector<std::string>& environment,
               int output, int log);
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

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// How another process of this program ended.
struct ChildResult {
  int exit_code = 0;   // 128 + signal where a signal ended it
  std::string output;  // what it printed on standard output
};

// Runs a ChildProcess and waits. Its standard error goes into the file `log` (appended to), its
// standard output comes back. stop_requested is asked ten times a second: once true, the child gets
// a SIGTERM, and is waited for. IoError if it cannot start.
ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested = {},
                      const std::vector<std::string>& environment = {});

}  // namespace stoker
