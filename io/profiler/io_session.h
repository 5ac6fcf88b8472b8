#pragma once

#include <memory>

#include "io/profiler/io_recorder.h"
#include "io/profiler/profile.h"

namespace stoker {

// A span of time whose I/O is asked for: what was counted between its begin and its end, of those
// files that were touched. The whole run's totals go on beside it (IoRecorder::totals()); there is
// one session at a time. One thread at a time; begin and end may be on different ones.
//
// What Darshan keeps as a maximum (last bytes, the slowest call), as a first or last time, or as
// the commonest values, is of the session alone, as if the file had been seen first in it. But what
// the rules compare a call with (the file's offset and last byte, read or written last, up to when
// time is counted) is what it was before: a read that goes on where the session before ended is
// consecutive. A call belongs to the session in which it ended, with all of its time.
class IoSession {
 public:
  // Begins. Error(ExitCode::bug) where the recorder was never started, or has a session open.
  explicit IoSession(IoRecorder& recorder = IoRecorder::instance());
  // Ends it where end() was not called; the profile is lost.
  ~IoSession();
  IoSession(const IoSession&) = delete;
  IoSession& operator=(const IoSession&) = delete;

  // Takes about a microsecond for each file that was touched, while which calls go on: those that
  // end meanwhile belong to this session or to what follows. Once; in the child of a fork or a
  // second time: Error(ExitCode::bug).
  IoProfile end();

 private:
  class Open;
  IoRecorder& recorder_;
  std::unique_ptr<Open> open_;
};

}  // namespace stoker
