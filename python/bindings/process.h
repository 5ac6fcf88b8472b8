#pragma once

#include <nanobind/nanobind.h>

#include <memory>

namespace stoker::python {

// Without the interpreter's lock (GIL) as long as it lives; made and destroyed by one thread of
// Python's, which holds the lock. Unlike nanobind's gil_scoped_release it
// may be under way in a daemon thread when the program ends: CPython before 3.14 ends a thread that
// asks for the lock of an interpreter which is leaving, by an unwinding that no destructor
// survives. Such a thread waits here for the end of the process.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// For Python's atexit: from now on no thread but this one takes the lock back. Waits for those that
// are about to.
void leave_interpreter();

// Whether this is the process that made the object, and no forked child of it: there its threads
// are not, and its locks may be held for ever.
class OwnProcess {
 public:
  bool here() const;
  // Error(ExitCode::environment) in a child: `what` was made before the fork.
  void require(const char* what) const;

 private:
  static int current();
  int process_ = current();
};

// Destroys an object in the process that made it. In a forked child it is left where it is.
struct InOwnProcess {
  OwnProcess process;
  template <class T>
  void operator()(T* object) const {
    if (process.here()) std::default_delete<T>()(object);
  }
};
template <class T>
using OwnedHere = std::unique_ptr<T, InOwnProcess>;

}  // namespace stoker::python
