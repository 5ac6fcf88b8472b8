#include "io/sinks/status.h"

#include <nlohmann/json.hpp>

#include "io/metrics/record/record_json.h"
#include "io/metrics/verdict.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr double kRecent_s = 10;

// Of the last seconds, where the history has them.
std::optional<double> recent_rate(const std::vector<HistoryPoint>& points) {
  double time = 0, images = 0;
  for (auto point = points.rbegin(); point != points.rend() && time < kRecent_s; ++point) {
    time += point->wall_s;
    images += static_cast<double>(point->images);
  }
  if (time <= 0) return std::nullopt;
  return images / time;
}

template <class E, size_t kSize>
void add_shares(json& out, const char* (*name)(E), const std::array<double, kSize>& parts,
                double whole) {
  for (size_t i = 0; i < kSize; ++i) {
    out[name(static_cast<E>(i))].push_back(whole > 0 ? json(parts[i] / whole) : json());
  }
}

// Columns of equal length; null where nothing was measured.
json history_json(const std::vector<HistoryPoint>& points) {
  json out = {{"elapsed_s", json::array()}};
  const auto or_null = [](const std::optional<double>& value) {
    return value ? json(*value) : json();
  };
  for (const HistoryPoint& point : points) {
    out["elapsed_s"].push_back(point.end_s);
    out["wall_s"].push_back(point.wall_s);
    add_shares(out["segments_share"], segment_name, point.segments, point.wall_s);
    add_shares(out["idle_share_by_cause"], idle_cause_name, point.idle, point.observed);
    out["images_per_s"].push_back(
        point.wall_s > 0 ? json(static_cast<double>(point.images) / point.wall_s) : json());
    out["queue_fill"].push_back(or_null(point.queue_fill));
    out["loss"].push_back(or_null(point.loss));
  }
  return out;
}

}  // namespace

json status_json(const Hub& hub, double stalled_after_s) {
  const RunRecord record = hub.record();
  const std::vector<HistoryPoint> points = hub.run().history();
  json status = to_json(record, stalled_after_s);
  status["health"] = {{"healthy", makes_progress(record.run, stalled_after_s)},
                      {"stalled_after_s", stalled_after_s},
                      {"segment", segment_name(record.run.segment)}};
  status["history"] = history_json(points);
  if (const auto recent = recent_rate(points)) status["history"]["images_per_s_recent"] = *recent;
  return status;
}

}  // namespace stoker
