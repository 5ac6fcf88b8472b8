#pragma once

#include <memory>

namespace stoker::python {

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
