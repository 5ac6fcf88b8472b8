#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/metrics/run_meter.h"
#include "models/objectives/objective.h"

namespace stoker {

// The counts of an evaluation under way, first those of this rank's batches, and later those of all
// ranks. A value; the trainer's thread.
class EvaluationCounts {
 public:
  // Adds what Metric::count() returned for a batch. Waits for the device.
  void add(const at::Tensor& counts, int64_t samples);
  // The counts as one list, which add() of another rank takes.
  const std::vector<int64_t>& values() const { return values_; }
  void add(const std::vector<int64_t>& values);
  // 0: nothing was counted, and there is nothing to measure.
  int64_t samples() const { return values_.empty() ? 0 : values_.front(); }
  // The measures that the counts give.
  std::vector<Measure> measures(const Metric& metric) const;

 private:
  std::vector<int64_t> values_;  // samples, then the metric's; empty: nothing yet
};

// "top-1 61.2 %, top-5 88.0 %" or "iou 0.412": measures for people, those of guessing left out.
std::string measures_text(const std::map<std::string, double>& measures);

}  // namespace stoker
