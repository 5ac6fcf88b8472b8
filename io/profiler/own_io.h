#pragma once

namespace stoker {

// While one lives, the calls of its thread do not count as I/O of the program: the profiler's own
// files, and what it asks of /proc. May be nested. Any thread; takes no lock.
class OwnIo {
 public:
  OwnIo();
  ~OwnIo();
  OwnIo(const OwnIo&) = delete;
  OwnIo& operator=(const OwnIo&) = delete;
};

}  // namespace stoker
