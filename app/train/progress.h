#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/run/cpu_watch.h"
#include "app/train/training_result.h"
#include "io/device/device.h"
#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"
#include "io/metrics/rate.h"
#include "io/metrics/sink.h"

namespace stoker {

class Hub;

// Publishes the ledger's and the device's times: after every step in the hub, and window by window
// as reports for the sinks. The trainer's thread; references must outlive it.
class Progress {
 public:
  // After StepLedger::begin(). first_step: those done before.
  Progress(Device& device, StepLedger& ledger, Hub& hub,
           const std::vector<std::unique_ptr<MetricsSink>>& sinks, int64_t first_step,
           int64_t steps_planned);

  // One more step of `images` samples was submitted.
  void add_step(int64_t images, int64_t epoch);
  void add_epoch() { ++epochs_; }
  void add_evaluation(double top1, double top5) { evaluated_ = {top1, top5}; }
  // Takes over what the device has finished. wait: until it has finished everything.
  void collect(bool wait);
  // Reports the window since the last call. `loss` is empty where none is computed.
  void report(std::optional<double> loss, double learning_rate,
              std::optional<CheckpointReport> checkpoints);
  int64_t images() const { return images_; }
  // After StepLedger::end(): everything measured, into the result and the hub.
  void finish(TrainingResult& result);

 private:
  void publish();
  void take_segments();

  Device& device_;
  StepLedger& ledger_;
  Hub& hub_;
  IdleAttribution idle_;
  const std::vector<std::unique_ptr<MetricsSink>>& sinks_;
  const int64_t first_step_;
  const int64_t steps_planned_;
  struct Window {  // where the current window began
    double wall_s = 0;
    int64_t step = 0;
    int64_t images = 0;
    std::array<double, kSegments> segments{};
    DeviceTime device;
  } window_;
  struct Evaluated {
    double top1;
    double top5;
  };
  std::optional<Evaluated> evaluated_;  // since the last report
  int64_t steps_;
  int64_t epoch_ = 0;
  int64_t epochs_ = 0;
  int64_t images_ = 0;
  RateWindows rates_;
  const CpuWatch cpu_;
};

}  // namespace stoker
