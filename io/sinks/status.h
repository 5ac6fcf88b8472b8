#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/metrics/hub.h"

namespace stoker {

// Everything about the run as one JSON object: /api/status, which the status page shows. Times are
// seconds, shares 0 to 1; what was not measured is null or left out. Any thread.
nlohmann::json status_json(const Hub& hub, double stalled_after_s);

// Its parts.
nlohmann::json loader_status(const LoaderMeter::State& loader, const RunMeter::State& run);
nlohmann::json tier_status(const TierMeter::State& tier);
nlohmann::json checkpoint_status(const CheckpointMeter::State& checkpoints, int64_t step);
nlohmann::json history_status(const std::vector<HistoryPoint>& points);

}  // namespace stoker
