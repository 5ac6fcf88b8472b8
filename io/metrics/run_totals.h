#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"

namespace stoker {

// What the parts of steps took; only where the trainer's thread computes them itself. A value.
struct PassTimes {
  double forward_s = 0;   // with the loss
  double backward_s = 0;  // with the exchange of gradients that runs beside it and after it
  double update_s = 0;
};

// Where the training loop stands. A value. Sums are of this process, times are seconds since the
// loop began.
struct RunTotals {
  // Finished steps and epochs, those before a resume included; and the epoch of the last step.
  int64_t steps = 0;
  int64_t epochs = 0;
  int64_t epoch = 0;
  // Samples of finished steps.
  int64_t images = 0;
  // Wall time of the loop, evaluations included; segments add up to it, but for closure_error.
  double wall_s = 0;
  std::array<double, kSegments> segments{};
  // As the device's clock saw it, which may be some steps late: its observed time ends with a step
  // that has finished there.
  DeviceTime device;
  // Absent: the device's steps cannot be divided.
  std::optional<PassTimes> pass;
  // 0 to 1. Absent before the second step, or where the device is not observed.
  std::optional<double> au;
  // |sum of the segments - wall_s| / wall_s. Absent until the loop has ended.
  std::optional<double> closure_error;
};
// What passed between the two: sums are subtracted, the rest is of `now`. `before` is an older
// value of the same run.
RunTotals operator-(const RunTotals& now, const RunTotals& before);

}  // namespace stoker
