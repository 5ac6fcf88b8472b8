#pragma once

#include "io/profiler/attach/attachment.h"
#include "io/profiler/wrap/wrapped_functions.h"
#include "tests/profiler/wrap/told.h"

namespace stoker {

// All wrappers are attached and count while it lives; what they tell is written down as text.
class Attached {
 public:
  Attached() {
    Told::instance().clear();
    Attachment::instance().attach(wrapped_functions());
    count_calls(true);
    Told::instance().in_words = true;
  }
  ~Attached() { end(); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  // Before a test looks at what was told, or writes.
  void end() {
    count_calls(false);
    Told::instance().in_words = false;
    Attachment::instance().detach();
  }
};

// What the wrappers told of what `calls` did.
template <class Calls>
std::vector<std::string> told_of(const Calls& calls) {
  Attached attached;
  calls();
  attached.end();
  return Told::instance().lines();
}

}  // namespace stoker
