#pragma once

#include <functional>
#include <string>

#include "io/core/notify.h"
#include "io/core/registry.h"

namespace stoker {

class Hub;
struct RunRecord;

// Where the figures of a run go. The trainer's thread. Throws IoError where it cannot write.
class MetricsSink {
 public:
  static constexpr const char* kKind = "sink";
  struct Inputs {
    std::string run_dir;
    Notify log;         // a line of the run's log
    bool live = false;  // standard error is a terminal that the user wants to watch
    bool emulated = false;
    Hub& hub;                        // everything that is measured, at any time
    std::function<bool()> stopping;  // a signal asked the process to end
  };
  virtual ~MetricsSink() = default;
  // Every metrics.every_steps steps: where the run stands, by a step's record (Hub::step_record),
  // and what passed since the call before (between()).
  virtual void write(const RunRecord& run, const RunRecord& window) = 0;
  // All that was written is with its reader. Called once, when the run and its checkpoints have
  // ended, also badly, and the record says how. An error becomes the run's, where it has none.
  virtual void flush() {}
};

template <>
Registry<MetricsSink>& Registry<MetricsSink>::global();

}  // namespace stoker
