#pragma once

#include <string>

#include "io/profiler/profile.h"

namespace stoker {

struct IoRecorderOptions;

// Sees the POSIX, STDIO and io_uring calls of this process in sessions. The wrappers are attached
// while it lives; between sessions they only pass calls on, and nothing is kept. One at a time for
// the process; one thread.
class IoProfiler {
 public:
  // library: as Attachment::attach() has it. It is told by Darshan's variables to count, and to
  // write its log to `library_log` when the profiler goes, unless the environment says otherwise.
  // Error as Attachment::attach().
  explicit IoProfiler(const std::string& library = {}, const std::string& library_log = {});
  // Drops a session that is open, and puts back what stood in the slots.
  ~IoProfiler();
  IoProfiler(const IoProfiler&) = delete;
  IoProfiler& operator=(const IoProfiler&) = delete;

  // A session begins. Errors as IoRecorder::start().
  void begin(const IoRecorderOptions& options);
  bool open() const;
  // Ends it: what this process read and wrote since begin(). Errors as IoRecorder::stop().
  IoProfile end();

 private:
  const std::string library_;
};

}  // namespace stoker
