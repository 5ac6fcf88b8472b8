#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics/spread.h"

namespace stoker {

// How a run's checkpoints stand; counts are of this process. What is absent was not measured. A
// value.
struct CheckpointReport {
  // Each offer that was due ends as one of these. saved: the set was committed on the first tier.
  // failed: it was given up after all attempts. skipped and replaced: another set was still under
  // way, and on_backlog said which of the two has to give way.
  int64_t saved = 0;
  int64_t failed = 0;
  int64_t skipped = 0;
  int64_t replaced = 0;
  // How many of the saved sets are committed on the last tier, and how many are only on the first
  // one yet. A drain that fails is tried again.
  int64_t drained = 0;
  int64_t drain_retries = 0;
  int64_t drains_left = 0;
  // The steps that a restart would go on from: with the newest set on any tier, and with the newest
  // one on the last tier. What lies between the two is lost with the fast tier.
  std::optional<int64_t> saved_step;
  std::optional<int64_t> durable_step;
  // The bytes of all files of one set; 0 before the first set.
  uint64_t set_bytes = 0;
  // The last attempt on some tier failed; last_error says why, also once it has been mended.
  bool degraded = false;
  std::string last_error;
  // Seconds from the offer to the commit on the first tier.
  std::optional<Spread> save_times;
  // Seconds from the begin of the copy to the commit on the last tier.
  std::optional<Spread> drain_times;
  // Seconds after the loop until all sets were where they belong.
  std::optional<double> flush_s;
};

// What a run's configuration says that only its components can tell, so that a verdict needs none
// of them (plan_of() of io/experiment makes it; "plan" in the record). A value.
struct RunPlan {
  // The loader has complete batches before they are asked for; and it has them on the device.
  bool works_ahead = true;
  bool copies_ahead = false;
  // False: the trainer's own thread reads and decodes.
  bool has_workers = true;
  // The tier that the data set names. Empty: it reads none.
  std::string tier;
  // The tier keeps copies of another tier's objects.
  bool keeps_copies = false;
  // The tier that reads end at: the one behind the copies, where there are some; and its type.
  std::string source;
  std::string source_type;
  // What that tier can do at most. Known only for an emulated one.
  std::optional<double> source_mb_per_s;
  // There is a checkpointer; the tiers that it writes to, first to last; its snapshot mode.
  bool saves = true;
  std::vector<std::string> written;
  std::string snapshot;
};

}  // namespace stoker
