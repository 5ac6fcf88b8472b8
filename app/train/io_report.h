#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/dataset/dataset.h"
#include "io/metrics/hub.h"

namespace stoker {

// Parts of summary.json. What was not measured is absent.

// "held_up": what held the run up, in words: {level, text, evidence}.
nlohmann::json held_up_json(Hub& hub);

// "storage": by tier what it is, its conditions, and reads and writes: number, bytes, busy_s (time
// with at least one under way) and mb_per_s = bytes / busy_s (absent for reads where
// run.page_cache was missed), with histograms by latency and size.
nlohmann::json storage_json(const Hub& hub);

// "slowest_samples": {"read": [{key, epoch, index, bytes, seconds}], "decode": [...]} of the
// training split, slowest first.
nlohmann::json slowest_samples_json(Hub& hub, const Dataset& dataset);

// [{part, step, begin_s, end_s, bytes}], in seconds since the loop began.
nlohmann::json checkpoint_operations_json(const Hub& hub);

}  // namespace stoker
