#include "python/bindings/process.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "io/core/error.h"

namespace stoker::python {
namespace {

// Of the process, as the interpreter is.
struct Leaving {
  Leaving();
  std::atomic<int> asking{0};
  std::atomic<bool> begun{false};
  std::thread::id by;  // set before begun
};

Leaving& leaving() {
  static Leaving all;
  return all;
}

// Other threads are not in a forked child.
Leaving::Leaving() {
  pthread_atfork(nullptr, nullptr, [] { leaving().asking = 0; });
}

}  // namespace

Released::~Released() {
  Leaving& all = leaving();
  ++all.asking;
  if (all.begun && all.by != std::this_thread::get_id()) {
    --all.asking;
    while (true) pause();
  }
  PyEval_RestoreThread(state_);
  --all.asking;
}

void leave_interpreter() {
  Leaving& all = leaving();
  if (all.begun) return;
  all.by = std::this_thread::get_id();
  all.begun = true;
  PyThreadState* const state = PyEval_SaveThread();
  while (all.asking != 0) std::this_thread::yield();
  PyEval_RestoreThread(state);
}

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
