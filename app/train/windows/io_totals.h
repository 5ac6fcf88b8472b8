#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "io/metrics/hub.h"

namespace stoker {

// What the I/O profiler's sessions of this process come to together: `io_profile` of its summary.
// Sessions may end on any thread; the rest is of one thread. The feed must outlive it.
class IoTotals {
 public:
  explicit IoTotals(IoSessionFeed& feed);

  // Null: no session has ended. Else `sessions`, `seconds` and `files` of all, and under `posix`,
  // `stdio`, `read`, `write` and `file_sizes` the sums of what profile_json() has there. Rates are
  // of all sessions' time. A file is counted in each session that saw it.
  nlohmann::json figures() const;

 private:
  void add(const IoSessionReport& report);

  mutable std::mutex mutex_;
  nlohmann::json sums_;                                        // null: no session
  std::unique_ptr<IoSessionFeed::Subscription> subscription_;  // last, for it uses the rest
};

}  // namespace stoker
