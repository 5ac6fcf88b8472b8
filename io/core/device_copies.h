#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker {

// A part of a tensor and where to copy it: bytes [begin, begin + bytes) go to `to`, which is host
// memory that the caller owns until the copies have ended. A value.
struct CopyTarget {
  size_t tensor = 0;  // index into the tensors that are copied
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint8_t* to = nullptr;
};

// Copies tensors from a device's memory to the host's, beside the device's other work. The
// trainer's thread, but for wait(). One set of copies at a time: start(), then fence() before the
// tensors change, then wait() before the host reads. Error(ExitCode::device) where the device
// fails.
class DeviceCopies {
 public:
  virtual ~DeviceCopies() = default;
  // Starts the copies behind all work queued so far, and returns at once.
  virtual void start(std::span<const CopyTarget> targets) = 0;
  // Makes all work that the device is given from now on begin after the copies. Does not block the
  // host.
  virtual void fence() = 0;
  // Blocks until the copies have ended. Any thread.
  virtual void wait() = 0;
};

}  // namespace stoker
