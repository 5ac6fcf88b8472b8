#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stoker {

// How another process of this program ended.
struct ChildResult {
  int exit_code = 0;   // 128 + signal where a signal ended it
  std::string output;  // what it printed on standard output
};

// Runs this program with `arguments` ("train", "a.yaml", ...) and waits. Its standard error goes
// into the file `log` (appended to), its standard output comes back. stop_requested is asked ten
// times a second: once true, the child gets a SIGTERM, and is waited for. The child dies with the
// calling thread. IoError where it cannot start.
ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested = {});

// Another program, by its absolute path, or this one.
struct ChildProgram {
  std::string path = "/proc/self/exe";
  std::vector<std::string> words;        // argv, with the name that it sees itself under
  std::vector<std::string> environment;  // NAME=value, besides this process's own
  double kill_after_s = 0;  // SIGKILL where it lives so long after the SIGTERM; 0: never
};

// The same for any program. It leads a process group of its own: a stop, and the end of the wait,
// reach the processes that it started as well.
ChildResult run_program(const ChildProgram& program, const std::string& log,
                        const std::function<bool()>& stop_requested = {});

}  // namespace stoker
