#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "io/metrics/hub.h"
#include "io/metrics/nvml.h"

namespace stoker {

// Everything that is measured, in Prometheus's text format. Any thread; one reading at a time.
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

// What a Pushgateway keeps of a run: how it ended, not how it went.
std::string outcome_text(const RunMeter::State& run);

}  // namespace stoker
