#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "io/sinks/status.h"

namespace stoker {
namespace {

using nlohmann::json;

// What a tally says of one kind of work.
json tally_json(const Tally::Totals& totals) {
  json result = {{"count", totals.count}, {"seconds", totals.seconds()}, {"bytes", totals.bytes}};
  if (totals.count > 0) {
    result["mean_s"] = totals.seconds() / static_cast<double>(totals.count);
    result["p99_s"] = totals.quantile(0.99);
  }
  return result;
}

// The share of the loader's work that the trainer did not feel.
std::optional<double> hidden_share(const LoaderMeter::State& loader, const RunMeter::State& run) {
  const double work = loader.stages[static_cast<size_t>(Stage::read)].seconds() +
                      loader.stages[static_cast<size_t>(Stage::decode)].seconds();
  if (loader.split != "train" || work <= 0 || loader.workers <= 0) return std::nullopt;
  const double felt = run.totals.segments[static_cast<size_t>(Segment::data_wait)];
  return std::max(0.0, 1 - felt * static_cast<double>(loader.workers) / work);
}

json stage_json(const LoaderMeter::State& loader, Stage stage, double wall_s) {
  const Tally::Totals& totals = loader.stages[static_cast<size_t>(stage)];
  json result = tally_json(totals);
  result["stage"] = stage_name(stage);
  result.erase("count");
  result["items"] = totals.count;
  if (wall_s > 0) result["busy_workers"] = totals.seconds() / wall_s;
  const bool by_workers = stage == Stage::read || stage == Stage::decode;
  if (by_workers && totals.ns > 0) {
    result["capacity_per_s"] =
        static_cast<double>(totals.count) / totals.seconds() * static_cast<double>(loader.workers);
  }
  return result;
}

}  // namespace

json loader_status(const LoaderMeter::State& loader, const RunMeter::State& run) {
  json result = {{"split", loader.split},
                 {"workers", loader.workers},
                 {"busy", loader.busy},
                 {"stages", json::array()},
                 {"queues", json::array()},
                 {"errors", loader.errors},
                 {"skipped", loader.skipped},
                 {"read_bytes", loader.stages[static_cast<size_t>(Stage::read)].bytes}};
  for (size_t i = 0; i < kStages; ++i) {
    if (loader.stages[i].count == 0) continue;
    result["stages"].push_back(stage_json(loader, static_cast<Stage>(i), run.totals.wall_s));
  }
  for (const QueueMeter::State& queue : loader.queues) {
    json entry = {{"queue", queue.name}, {"items", queue.items}, {"capacity", queue.capacity}};
    if (queue.observed_s > 0) {
      entry["fill"] = queue.item_seconds / queue.observed_s / static_cast<double>(queue.capacity);
      entry["empty_share"] = queue.empty_s / queue.observed_s;
      entry["full_share"] = queue.full_s / queue.observed_s;
    }
    result["queues"].push_back(entry);
  }
  if (loader.storage_bytes) result["storage_bytes"] = *loader.storage_bytes;
  if (const auto hidden = hidden_share(loader, run)) result["hidden_share"] = *hidden;
  return result;
}

json tier_status(const TierMeter::State& tier) {
  json result = {{"tier", tier.name},           {"type", tier.type},
                 {"emulated", tier.emulated},   {"in_flight", tier.in_flight},
                 {"operations", json::array()}, {"errors", json::array()}};
  for (size_t i = 0; i < kTierOps; ++i) {
    const Tally::Totals& totals = tier.ops[i];
    if (totals.count == 0) continue;
    json op = tally_json(totals);
    op["op"] = to_string(static_cast<TierOp>(i));
    // Of the time spent in operations, summed over threads.
    if (totals.bytes > 0) op["bytes_per_s"] = static_cast<double>(totals.bytes) / totals.seconds();
    result["operations"].push_back(op);
  }
  for (const auto& [error, count] : tier.errors) {
    const char* name = error.second == 0 ? "none" : strerrorname_np(error.second);
    result["errors"].push_back({{"op", to_string(error.first)},
                                {"errno", name == nullptr ? "unknown" : name},
                                {"count", count}});
  }
  if (tier.cache) {
    result["cache"] = {{"hits", tier.cache->hits},
                       {"misses", tier.cache->misses},
                       {"bytes", tier.cache->bytes},
                       {"limit", tier.cache->limit}};
  }
  return result;
}

json checkpoint_status(const CheckpointMeter::State& checkpoints, int64_t step) {
  if (!checkpoints.report) return nullptr;
  const CheckpointReport& report = *checkpoints.report;
  json result = {{"saved", report.saved},
                 {"failed", report.failed},
                 {"skipped", report.skipped},
                 {"replaced", report.replaced},
                 {"drained", report.drained},
                 {"drain_retries", report.drain_retries},
                 {"drains_left", report.drains_left},
                 {"set_bytes", report.set_bytes},
                 {"degraded", report.degraded},
                 {"last_error", report.last_error},
                 {"parts", json::object()}};
  if (report.saved_step) result["saved_step"] = *report.saved_step;
  if (report.durable_step) {
    result["durable_step"] = *report.durable_step;
    result["work_at_risk"] = step - *report.durable_step;
  }
  for (size_t i = 0; i < kCheckpointParts; ++i) {
    if (checkpoints.parts[i].count == 0) continue;
    json part = tally_json(checkpoints.parts[i]);
    if (checkpoints.last_s[i]) part["last_s"] = *checkpoints.last_s[i];
    result["parts"][to_string(static_cast<CheckpointPart>(i))] = part;
  }
  return result;
}

json history_status(const std::vector<HistoryPoint>& points) {
  json result = {
      {"t", json::array()},     {"wall_s", json::array()},       {"segments", json::object()},
      {"idle", json::object()}, {"images_per_s", json::array()}, {"queue_fill", json::array()},
      {"loss", json::array()}};
  for (size_t i = 0; i < kSegments; ++i) {
    result["segments"][segment_name(static_cast<Segment>(i))] = json::array();
  }
  for (size_t i = 0; i < kIdleCauses; ++i) {
    result["idle"][idle_cause_name(static_cast<IdleCause>(i))] = json::array();
  }
  const auto share = [](double part, double whole) {
    return whole > 0 ? json(part / whole) : json(nullptr);
  };
  for (const HistoryPoint& point : points) {
    result["t"].push_back(point.end_s);
    result["wall_s"].push_back(point.wall_s);
    for (size_t i = 0; i < kSegments; ++i) {
      result["segments"][segment_name(static_cast<Segment>(i))].push_back(
          share(point.segments[i], point.wall_s));
    }
    for (size_t i = 0; i < kIdleCauses; ++i) {
      result["idle"][idle_cause_name(static_cast<IdleCause>(i))].push_back(
          share(point.idle[i], point.observed));
    }
    result["images_per_s"].push_back(share(static_cast<double>(point.images), point.wall_s));
    result["queue_fill"].push_back(point.queue_fill ? json(*point.queue_fill) : json(nullptr));
    result["loss"].push_back(point.loss ? json(*point.loss) : json(nullptr));
  }
  return result;
}

}  // namespace stoker
