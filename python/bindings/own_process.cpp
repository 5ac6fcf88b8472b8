#include "python/bindings/own_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include "io/core/error.h"

namespace stoker::python {

int OwnProcess::current() { return ::getpid(); }

bool OwnProcess::here() const { return current() == process_; }

void OwnProcess::require(const char* what) const {
  if (here()) return;
  throw Error(
      ExitCode::environment,
      fmt::format("this {} was made in process {}, before the fork that made this one: make "
                  "one here",
                  what, process_));
}

}  // namespace stoker::python
