#pragma once

#include <nlohmann/json_fwd.hpp>

#include "io/metrics/hub.h"

namespace stoker {

// /api/status, which the status page shows: the record (record_json.h), and beside it "health" and
// "history", the course of the run so far. Any thread.
nlohmann::json status_json(const Hub& hub, double stalled_after_s);

}  // namespace stoker
