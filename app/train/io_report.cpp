#include "app/train/io_report.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "io/metrics/verdict.h"

namespace stoker {
namespace {

using nlohmann::json;

json traffic_json(const Tally::Totals& total, double busy_s, const SizeCounts& sizes) {
  json result = {{"count", total.count},
                 {"bytes", total.bytes},
                 {"busy_s", busy_s},
                 {"latency", {{"upper_bounds_s", kLatencyBounds}, {"counts", total.buckets}}},
                 {"size", {{"upper_bounds_bytes", kSizeBounds}, {"counts", sizes}}}};
  if (total.count > 0) {
    result["mean_s"] = total.seconds() / static_cast<double>(total.count);
    result["p50_s"] = total.quantile(0.5);
    result["p99_s"] = total.quantile(0.99);
  }
  if (total.bytes > 0 && busy_s > 0) {
    result["mb_per_s"] = 1e-6 * static_cast<double>(total.bytes) / busy_s;
  }
  return result;
}

// missed: the page cache was not as it should have been, so that reads say nothing of the tier.
json tier_json(const TierMeter::State& tier, const std::string& missed) {
  const auto of = [&](TierOp op) { return tier.ops[static_cast<size_t>(op)]; };
  json result = {{"type", tier.type}, {"emulated", tier.emulated}, {"conditions", tier.conditions}};
  if (of(TierOp::read).count > 0) {
    result["reads"] = traffic_json(of(TierOp::read), tier.read_busy_s, tier.read_sizes);
    if (!missed.empty()) {
      result["reads"].erase("mb_per_s");
      result["conditions"].push_back(missed);
    }
  }
  if (of(TierOp::write).count > 0) {
    result["writes"] = traffic_json(of(TierOp::write), tier.write_busy_s, tier.write_sizes);
  }
  if (tier.emulated) {
    result["overruns"] = {{"count", tier.overruns}, {"seconds", tier.overrun_s}};
  }
  int64_t errors = 0;
  for (const auto& [what, count] : tier.errors) errors += count;
  result["errors"] = errors;
  return result;
}

json samples_json(const std::vector<SlowSample>& samples, const Dataset& dataset) {
  json result = json::array();
  for (const SlowSample& slow : samples) {
    result.push_back({{"key", dataset.info(Split::train, slow.sample.index).key},
                      {"epoch", slow.sample.epoch},
                      {"index", slow.sample.index},
                      {"bytes", slow.bytes},
                      {"seconds", slow.seconds}});
  }
  return result;
}

}  // namespace

json held_up_json(Hub& hub) {
  const Verdict verdict = judge(hub.run().state(), hub.train_loader().state(), hub.tiers(),
                                std::numeric_limits<double>::infinity());
  return {
      {"level", to_string(verdict.level)}, {"text", verdict.text}, {"evidence", verdict.evidence}};
}

json storage_json(const Hub& hub) {
  json result = json::object();
  const std::string missed = missed_page_cache(hub.run().state().cache);
  for (const TierMeter::State& tier : hub.tiers()) result[tier.name] = tier_json(tier, missed);
  return result;
}

json slowest_samples_json(Hub& hub, const Dataset& dataset) {
  const LoaderMeter& loader = hub.train_loader();
  return {{"read", samples_json(loader.slowest(Stage::read), dataset)},
          {"decode", samples_json(loader.slowest(Stage::decode), dataset)}};
}

json checkpoint_operations_json(const Hub& hub) {
  json result = json::array();
  const std::optional<TimePoint> loop = hub.run().state().loop_begin;
  if (!loop) return result;
  for (const CheckpointMeter::Operation& done : hub.checkpoints().operations()) {
    json operation = {{"part", to_string(done.part)},
                      {"step", done.step},
                      {"begin_s", seconds(done.begin - *loop)},
                      {"end_s", seconds(done.end - *loop)}};
    if (done.bytes > 0) operation["bytes"] = done.bytes;
    result.push_back(operation);
  }
  return result;
}

}  // namespace stoker
