#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "io/metrics/machine/nvml.h"
#include "io/metrics/record/run_record.h"

namespace stoker {

// The table of figures in Prometheus's text format. Any thread; one reading at a time.
class Exposition {
 public:
  explicit Exposition(Hub& hub) : hub_(hub) {}
  std::string text();

 private:
  Hub& hub_;
  std::mutex mutex_;
  std::optional<Nvml> nvml_;
  std::optional<NvmlDevice> gpu_;
};

// What a Pushgateway keeps of a run: how it ended, and the trainer's and the checkpoints' figures.
std::string outcome_text(const Hub& hub);

// What tells runs apart: the name of the directory.
std::string run_label(const RunInfo& info);

}  // namespace stoker
