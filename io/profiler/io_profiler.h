#pragma once

namespace stoker {

struct IoRecorderOptions;

// Sees the POSIX, STDIO and io_uring calls of this process while it lives: the wrappers are
// attached and tell the recorder. IoSession makes profiles of it. One at a time for the process;
// one thread. Error as IoRecorder::start() and Attachment::attach().
class IoProfiler {
 public:
  explicit IoProfiler(const IoRecorderOptions& options);
  // Puts back what stood in the slots.
  ~IoProfiler();
  IoProfiler(const IoProfiler&) = delete;
  IoProfiler& operator=(const IoProfiler&) = delete;
};

}  // namespace stoker
