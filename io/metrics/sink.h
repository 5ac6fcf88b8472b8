#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/core/notify.h"
#include "io/core/registry.h"
#include "io/metrics/checkpoint_report.h"

namespace stoker {

class Hub;

// What the trainer says every metrics.every_steps steps. Times are seconds. `window` is the time
// since the report before. What was not measured is absent, never 0.
struct StepReport {
  int64_t step = 0;  // finished steps
  int64_t steps_planned = 0;
  int64_t epoch = 0;
  int64_t images = 0;                                    // since the start
  double wall_s = 0;                                     // since the start of the loop
  double window_s = 0;                                   // length of the window
  double images_per_s = 0;                               // in the window
  std::vector<std::pair<std::string, double>> segments;  // trainer-thread seconds in the window
  double io_share = 0;                                   // data_wait / all segments of the window
  std::optional<double> device_idle;  // share of the device time observed in the window
  std::vector<std::pair<std::string, double>> idle_by_cause;  // likewise; empty where not observed
  std::optional<double> loss;
  double learning_rate = 0;
  double eta_s = 0;
  std::optional<double> top1;  // of an evaluation since the report before
  std::optional<double> top5;
  std::optional<CheckpointReport> checkpoints;  // absent: none configured
};

// Where reports go. The trainer's thread. Throws IoError where it cannot write.
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
  virtual void write(const StepReport& report) = 0;
  // All reports are with their reader. Called once, when the run and its checkpoints have ended,
  // also badly, and summary.json is written.
  virtual void flush() {}
};

template <>
Registry<MetricsSink>& Registry<MetricsSink>::global();

}  // namespace stoker
