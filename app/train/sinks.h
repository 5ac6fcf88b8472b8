#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"
#include "app/process/log.h"
#include "app/process/stop_signal.h"
#include "io/metrics/record/run_record.h"
#include "io/metrics/sink.h"

namespace stoker {

// The sinks of a run, under one rule: what a sink cannot write does not end a training. The sink is
// left out from then on, the log says so once, `sinks_failed` counts it, and the run ends with exit
// code 3. The trainer's thread, but for what a sink's own thread reports. References must outlive
// it.
class RunSinks {
 public:
  // Makes them, in the order of metrics.sinks. Throws what a constructor throws: a run that cannot
  // begin to write should not begin.
  RunSinks(Experiment& experiment, const std::string& run_dir, RunLog& log, const StopSignal& stop);
  RunSinks(const RunSinks&) = delete;
  RunSinks& operator=(const RunSinks&) = delete;

  // Gives a report to each sink that works.
  void write(const RunRecord& now, const RunRecord& window);
  // Flushes every sink for the last time.
  void flush();
  // What could not be written, in words. Empty: everything was written.
  std::string lost() const;

 private:
  struct Entry {
    std::string type;
    std::unique_ptr<MetricsSink> sink;
    std::string error = {};
  };
  // Notes that the sink of that number has failed. Any thread; only the first error of a sink
  // counts.
  void fail(size_t sink, const std::string& error);
  bool failed(size_t sink) const;
  template <class F>
  void guarded(size_t sink, F&& f);

  RunLog& log_;
  RunMeter& meter_;
  mutable std::mutex mutex_;  // guards `error`
  std::vector<Entry> entries_;
};

}  // namespace stoker
