#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "io/profiler/profile.h"

namespace stoker {

// Writes recorded profiles as trace.json, through the sink `trace`. Each file has a row. One
// thread.
//
//   ProfileTrace trace(directory);
//   trace.add(profile);  // each session, in the order of time
//   std::string line = trace.finish();
class ProfileTrace {
 public:
  // The directory is there. IoError where the file cannot be written.
  explicit ProfileTrace(const std::string& directory);
  void add(IoProfile profile);
  // Call it once, last. Returns a line that says what was written.
  std::string finish();

 private:
  Hub hub_;
  std::string line_;
  std::unique_ptr<MetricsSink> sink_;  // it refers to the hub
  const TimePoint start_;              // where the first profile begins
  std::optional<int64_t> first_ns_;    // its begin
};

}  // namespace stoker
