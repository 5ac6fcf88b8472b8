#include "io/sinks/status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/metrics/unix_time.h"
#include "io/metrics/verdict.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr double kRecent_s = 10;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json run_json(const RunInfo& info) {
  json result = {{"name", info.name},
                 {"directory", info.directory},
                 {"config_hash", info.config_hash},
                 {"model", info.model},
                 {"dataset", info.dataset},
                 {"loader", info.loader},
                 {"checkpoint", info.checkpoint},
                 {"precision", info.precision},
                 {"device", info.device},
                 {"timing_method", info.timing_method},
                 {"device_emulated", info.emulated},
                 {"batch_size", info.batch_size},
                 {"rank", info.rank},
                 {"world_size", info.world_size},
                 {"started_unix_s", info.started_unix_s},
                 {"first_step", info.first_step}};
  for (const auto& [name, value] : info.build) result[name] = value;
  return result;
}

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

json progress_json(const RunMeter::State& run, const std::vector<HistoryPoint>& points) {
  const RunTotals& totals = run.totals;
  json result = {{"step", totals.step},
                 {"epoch", totals.epoch},
                 {"images", totals.images},
                 {"wall_s", totals.wall_s},
                 {"last_step_unix_s", or_null(run.last_step_unix_s)},
                 {"first_batch_s", or_null(run.first_batch_s)},
                 {"images_per_s_recent", or_null(recent_rate(points))},
                 {"loss", or_null(run.loss)},
                 {"learning_rate", or_null(run.learning_rate)}};
  if (run.info.steps_planned > 0) result["steps_planned"] = run.info.steps_planned;
  if (totals.steps > 0) {
    const double per_step = totals.wall_s / static_cast<double>(totals.steps);
    result["images_per_s"] = static_cast<double>(totals.images) / totals.wall_s;
    result["eta_s"] = per_step * static_cast<double>(run.info.steps_planned - totals.step);
    result["step_p50_s"] = run.step_times.quantile(0.5);
    result["step_p99_s"] = run.step_times.quantile(0.99);
  }
  if (run.accuracy) {
    result["accuracy"] = {{"step", run.accuracy->step},
                          {"samples", run.accuracy->samples},
                          {"top1", run.accuracy->top1},
                          {"top5", run.accuracy->top5}};
  }
  return result;
}

json ledger_json(const RunTotals& totals) {
  json seconds = json::object();
  for (size_t i = 0; i < kSegments; ++i) {
    seconds[segment_name(static_cast<Segment>(i))] = totals.segments[i];
  }
  json result = {{"seconds", seconds}, {"closure_error", or_null(totals.closure_error)}};
  if (totals.wall_s > 0) {
    const auto share = [&](Segment segment) {
      return totals.segments[static_cast<size_t>(segment)] / totals.wall_s;
    };
    result["io_share"] = share(Segment::data_wait);
    result["checkpoint_stall_share"] = share(Segment::checkpoint_stall);
  }
  return result;
}

json device_json(const RunTotals& totals) {
  const DeviceTime& time = totals.device;
  if (time.observed <= 0) return nullptr;
  json idle = json::object(), shares = json::object();
  double sum = 0;
  for (size_t i = 0; i < kIdleCauses; ++i) {
    const char* cause = idle_cause_name(static_cast<IdleCause>(i));
    idle[cause] = time.idle[i];
    shares[cause] = time.idle[i] / time.observed;
    sum += time.idle[i];
  }
  return {{"observed_s", time.observed},
          {"busy_s", time.busy},
          {"idle_s", idle},
          {"idle_share", sum / time.observed},
          {"idle_share_by_cause", shares},
          {"au", or_null(totals.au)}};
}

json cache_json(const CacheEvidence& cache, const LoaderMeter::State& loader) {
  const CacheVerdict verdict = judge_cache(cache, loader);
  return {{"asked_bytes", loader.stages[static_cast<size_t>(Stage::read)].bytes},
          {"storage_bytes", or_null(loader.storage_bytes)},
          {"files_looked_at", cache.files_looked_at},
          {"resident_before", or_null(cache.resident_before)},
          {"resident", or_null(cache.resident)},
          {"verdict", to_string(verdict.level)},
          {"text", verdict.text}};
}

json overhead_json(const Hub& hub, double wall_s) {
  json seconds = json::object();
  double sum = 0;
  const auto overhead = hub.overhead_s();
  for (size_t i = 0; i < kOverheads; ++i) {
    seconds[to_string(static_cast<Overhead>(i))] = overhead[i];
    sum += overhead[i];
  }
  json result = {{"seconds", seconds}};
  if (wall_s > 0) result["share"] = sum / wall_s;
  return result;
}

}  // namespace

json status_json(const Hub& hub, double stalled_after_s) {
  const RunMeter::State run = hub.run().state();
  const std::vector<HistoryPoint> points = hub.run().history();
  const std::vector<LoaderMeter::State> loaders = hub.loaders();
  const std::vector<TierMeter::State> tiers = hub.tiers();
  const Verdict verdict = judge(run, loaders.front(), tiers, stalled_after_s);
  json result = {{"schema_version", 1},
                 {"now_unix_s", unix_now()},
                 {"run", run_json(run.info)},
                 {"phase", to_string(run.phase)},
                 {"error", run.error},
                 {"health",
                  {{"healthy", makes_progress(run, stalled_after_s)},
                   {"since_progress_s", run.since_beat_s},
                   {"stalled_after_s", stalled_after_s},
                   {"segment", segment_name(run.segment)}}},
                 {"progress", progress_json(run, points)},
                 {"ledger", ledger_json(run.totals)},
                 {"device", device_json(run.totals)},
                 {"loaders", json::array()},
                 {"cache", cache_json(run.cache, loaders.front())},
                 {"tiers", json::array()},
                 {"checkpoint", checkpoint_status(hub.checkpoints().state(), run.totals.step)},
                 {"overhead", overhead_json(hub, run.totals.wall_s)},
                 {"verdict",
                  {{"level", to_string(verdict.level)},
                   {"text", verdict.text},
                   {"evidence", verdict.evidence}}},
                 {"history", history_status(points)}};
  for (const LoaderMeter::State& loader : loaders) {
    if (loader.workers > 0 || loader.stages[0].count > 0) {
      result["loaders"].push_back(loader_status(loader, run));
    }
  }
  for (const TierMeter::State& tier : tiers) result["tiers"].push_back(tier_status(tier));
  return result;
}

}  // namespace stoker
