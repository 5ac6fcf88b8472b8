#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/metrics/spread.h"

namespace stoker {

// How a run's checkpoints stand; counts are of this process. What is absent was not measured. A
// value.
struct CheckpointReport {
  // Sets. Each offer that was due ends as one of saved, failed, skipped and replaced; of the saved
  // ones `drained` reached the last tier and drains_left not yet.
  int64_t saved = 0;     // committed on the first tier
  int64_t failed = 0;    // given up after all attempts
  int64_t skipped = 0;   // on_backlog: skip
  int64_t replaced = 0;  // on_backlog: replace
  int64_t drained = 0;
  int64_t drain_retries = 0;
  int64_t drains_left = 0;  // on the fast tier only
  // Steps of training that a restart would begin after. What lies between the two is lost with the
  // fast tier.
  std::optional<int64_t> saved_step;    // newest on any tier
  std::optional<int64_t> durable_step;  // newest on the last tier
  // Size of one set, of all its files; 0 before the first.
  uint64_t set_bytes = 0;
  bool degraded = false;  // the last attempt on some tier failed
  // Of the last attempt that failed, in words; empty: none has.
  std::string last_error;
  std::optional<Spread> save_times;   // seconds from offer to commit on the first tier
  std::optional<Spread> drain_times;  // seconds from the copy's begin to commit on the last tier
  std::optional<double> flush_s;      // after the loop, until all were where they belong
};

}  // namespace stoker
