#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/core/config/registry.h"
#include "io/metrics/io_profile/io_recorder_options.h"

namespace stoker {

class Hub;

// Sessions of the I/O profiler, each of which records every call of this process on a file. A
// session leaves NAME.darshan in the run directory, a row for each file among the tracer's, and the
// live page's section. One thread; logs are written by a thread of the sessions' own.
//
// The one implementation, "profiler", is in the plug-in stoker_profiler, so that a run without
// sessions does not load it.
class IoSessions {
 public:
  static constexpr const char* kKind = "io sessions";
  struct Inputs {
    IoRecorderOptions recorder;
    std::string run_dir;
    Hub& hub;  // must outlive the sessions
    // Files in these folders are always looked at, whatever `recorder` leaves out.
    std::vector<std::string> folders = {};
    // A libdarshan.so that counts beside the profiler, from the first session on, and leaves
    // libdarshan.darshan in the run directory. Empty: none.
    std::string library = {};
  };
  // Drops a session that is open.
  virtual ~IoSessions() = default;
  // Begins a session: there must be none. Error(ExitCode::environment) where the profiler cannot be
  // attached; the first session attaches it.
  virtual void begin() = 0;
  virtual bool open() const = 0;
  // Ends the session, which is about the steps [first, last); its log is written meanwhile.
  virtual void end(const std::string& name, int64_t first, int64_t last) = 0;
  // Once, without an open session: when it returns, all logs are written. IoError where one could
  // not be: those behind it are missing, too.
  virtual void finish() = 0;
};

template <>
Registry<IoSessions>& Registry<IoSessions>::global();

// Loads the plug-in on first use. Error(ExitCode::environment), which names it, where it cannot be
// loaded.
std::unique_ptr<IoSessions> new_io_sessions(const IoSessions::Inputs& inputs);

}  // namespace stoker
