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
// times a second: once true, the child gets a SIGTERM, and is waited for. environment: NAME=value,
// besides this process's own. The child dies with the calling thread. It leads a process group: a
// stop, and the end of the wait, reach the processes that it started as well. IoError where it
// cannot start.
ChildResult run_child(const std::vector<std::string>& arguments, const std::string& log,
                      const std::function<bool()>& stop_requested = {},
                      const std::vector<std::string>& environment = {});

}  // namespace stoker
