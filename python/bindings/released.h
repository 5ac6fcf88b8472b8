#pragma once

#include <nanobind/nanobind.h>

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

}  // namespace stoker::python
