#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/training_result.h"
#include "io/device/device.h"
#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"
#include "io/metrics/rate.h"
#include "io/metrics/sink.h"

namespace stoker {

// Turns the ledger's and the device's times into reports for the sinks, window by window. The
// trainer's thread.
class Progress {
 public:
  // After StepLedger::begin(). first_step: those done before.
  Progress(Device& device, StepLedger& ledger, std::vector<std::unique_ptr<MetricsSink>> sinks,
           int64_t first_step, int64_t steps_planned);

  // One more step of `images` samples was submitted.
  void add_step(int64_t images);
  // Takes over what the device has finished. wait: until it has finished everything.
  void collect(bool wait);
  // Reports the window since the last call. `loss` is empty where none is computed.
  void report(int64_t epoch, std::optional<double> loss, double learning_rate,
              std::optional<CheckpointReport> checkpoints);
  int64_t images() const { return images_; }
  // Everything measured so far, into the result; the sinks are flushed.
  void finish(TrainingResult& result);

 private:
  Device& device_;
  StepLedger& ledger_;
  IdleAttribution idle_;
  std::vector<std::unique_ptr<MetricsSink>> sinks_;
  int64_t steps_planned_;
  struct Window {  // where the current window began
    double wall_s = 0;
    int64_t step = 0;
    int64_t images = 0;
    std::array<double, kSegments> segments{};
    DeviceTime device;
  } window_;
  int64_t steps_;
  int64_t images_ = 0;
  RateWindows rates_;
};

}  // namespace stoker
