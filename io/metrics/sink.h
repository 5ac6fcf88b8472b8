#pragma once

#include <functional>
#include <optional>
#include <string>

#include "io/core/config/registry.h"
#include "io/core/error.h"
#include "io/metrics/clock.h"

namespace stoker {

class Hub;
struct RunRecord;

// Where the figures of a run go. The trainer's thread. Throws IoError where it cannot write, and
// gets no more reports then.
//
// A sink that gets rows writes them in write(). One that wants more, or at other times, keeps
// Inputs::hub: it may ask for a whole record whenever it likes (Hub::record(), from a thread of its
// own too), or subscribe to single events (Hub::tracer()). What it leaves goes into run_dir.
//
// A sink must not slow the run down: write() is called between two steps, and its time is a segment
// of the trainer's ("log").
class MetricsSink {
 public:
  // As `stoker list` and messages name it.
  static constexpr const char* kKind = "sink";
  // What every sink is made with. A value; the hub outlives the sink.
  struct Inputs {
    // Is there already, and the sink's own files are not.
    std::string run_dir;
    Notify log;         // a line of the run's log
    bool live = false;  // standard error is a terminal that the user wants to watch
    // The device is: figures are to say so.
    bool emulated = false;
    Hub& hub;  // everything that is measured, at any time
    // By when the process has to have ended, because a signal asked it to. Empty: none has. Any
    // thread may ask.
    std::function<std::optional<TimePoint>()> ends_by = [] { return std::optional<TimePoint>(); };
    // What a thread of the sink's own could not write; once is enough. As an Error of write(): the
    // sink gets no more reports, and the run goes on and ends with exit code 3.
    Notify failed = [](const std::string&) {};
  };
  // The Options of a sink that has nothing to choose.
  struct NoOptions {
    template <class V>
    void visit(V&) {}
  };
  virtual ~MetricsSink() = default;
  // Every metrics.every_steps steps: where the run stands, by a step's record (Hub::step_record),
  // and what passed since the call before (between()). The default is for sinks that look at the
  // hub themselves, when they want to.
  virtual void write(const RunRecord&, const RunRecord&) {}
  // All that was written is with its reader. Called once, when the run and its checkpoints have
  // ended, also badly, and the record says how; also after a failure. An error becomes the run's,
  // if the run has no error yet.
  virtual void flush() {}
};

template <>
Registry<MetricsSink>& Registry<MetricsSink>::global();

}  // namespace stoker
