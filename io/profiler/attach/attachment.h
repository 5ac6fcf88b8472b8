#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

class ProcessSlots;

// What an attachment does at the moment, and what it left as it was.
struct AttachFigures {
  int64_t objects = 0;      // looked at: the program and its libraries
  int64_t left_out = 0;     // libc, the loader, preloaded libraries, sanitizers
  int64_t relocations = 0;  // of those looked at
  int64_t slots = 0;        // that hold a wrapper now
  // Slots since attach(): those that no call had bound yet; those that a first call bound over
  // again because it was under way while its slot was replaced; those in pages that are read-only.
  int64_t unbound = 0, bound_over = 0, read_only = 0;
  struct Skipped {
    int64_t other_library = 0;  // hold a function that is not libc's, preload's or sanitizer's
    int64_t undefined = 0;      // hold nothing: a weak function that the process lacks
    int64_t no_wrapper = 0;     // the function has more originals than wrappers
    int64_t refused = 0;        // their page could not be made writable
    int64_t damaged = 0;        // relocations that lead out of their object
  };
  Skipped skipped;
  int64_t passes = 0;  // over all objects
  int64_t last_pass_ns = 0;
};

// Replaces, in all objects of the process, the relocation slots that hold the given functions, and
// covers objects that are loaded later: before each dlsym of the program, and by looking again ten
// times a second. One for the process, never destroyed. README.md tells how it works and what it
// does not see. Any thread, but not from the constructor of a library. In the child of a fork that
// came while it was attached, all of these do nothing.
class Attachment {
 public:
  static Attachment& instance();
  ~Attachment();

  // `functions` and their wrappers must live for ever: their objects are never unloaded again.
  // Already attached: Error(ExitCode::bug).
  //
  // library: the path of one whose functions of those names are called in libc's place, and call
  // libc's themselves (libdarshan.so); it is loaded for ever. Empty: none. Error(environment) where
  // it cannot be loaded, or has none of them.
  void attach(std::span<const WrappedFunction> functions, const std::string& library = {});
  // Puts back what stood in the slots: where a slot was unbound, the function itself. Nothing to do
  // where not attached.
  void detach();
  // Covers what was loaded since, now: for who has just loaded a library and cannot wait.
  void cover();
  AttachFigures figures() const;

 private:
  Attachment();
  void stop_looking();
  void look_again();

  std::mutex changing_;  // attach and detach
  const std::unique_ptr<ProcessSlots> slots_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::exception_ptr failure_;  // of looking again: detach() throws it
  std::thread looker_;
};

}  // namespace stoker
