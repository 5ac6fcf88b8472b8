#pragma once

#include <csignal>

namespace stoker {

// While it lives, SIGUSR2 begins a session of the I/O profiler, and the next one ends it
// (IoTrigger). One instance at a time, made and destroyed by one thread; the destructor restores
// the former handler.
class SessionSignal {
 public:
  SessionSignal();
  ~SessionSignal();
  SessionSignal(const SessionSignal&) = delete;
  SessionSignal& operator=(const SessionSignal&) = delete;

 private:
  struct sigaction old_;
};

}  // namespace stoker
