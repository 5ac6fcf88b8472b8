#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/analysis/doctor/finding.h"
#include "app/base/json.h"

namespace stoker {
namespace {

constexpr double kAtItsRate = 0.7;   // of what the tier can do
constexpr double kManyReads = 8;     // in flight: more of them rarely bring more
constexpr double kSlowRead = 20e-3;  // of one, under kManyReads: they queue
constexpr int64_t kMoreReaders = 4;
constexpr int64_t kMaxWorkers = 64;

struct Reading {
  double mb_per_s;
  double in_flight;
  double each_ms;
};

Reading reading_of(const Evidence& e) {
  const double busy = std::max(e.source_busy_s, 1e-9);
  return {1e-6 * e.source_bytes / busy, e.read_s / busy, 1e3 * e.read_s / std::max(1.0, e.reads)};
}

bool at_its_rate(const Evidence& e, const Reading& reading) {
  if (e.fell_behind) return true;
  if (e.source_mb_per_s) return reading.mb_per_s > kAtItsRate * *e.source_mb_per_s;
  return reading.in_flight > kManyReads && reading.each_ms > 1e3 * kSlowRead;
}

std::vector<std::string> storage_evidence(const Evidence& e, const Reading& reading) {
  std::vector<std::string> lines{
      fmt::format("tier '{}' gave {:.1f} MB/s while it was read, with {:.1f} reads under way and "
                  "{:.2f} ms for each",
                  e.source, reading.mb_per_s, reading.in_flight, reading.each_ms),
      fmt::format("{:.0f} % of the loader's work is reading",
                  100 * e.read_s / (e.read_s + e.decode_s))};
  if (e.source_mb_per_s) {
    lines.push_back(fmt::format("{} ({}) {} {:.0f} MB/s", e.source, e.source_type,
                                e.fell_behind ? "could not keep up with the model's" : "can do",
                                *e.source_mb_per_s));
  }
  return lines;
}

// The tier behind copies in memory, which serve all epochs but the first. Empty: there is only one,
// or they are there.
std::string cached_tier(const Evidence& e) {
  const Node* tiers = e.config.find("storage");
  const Node* tier = tiers == nullptr ? nullptr : tiers->find(e.tier);
  const std::string epochs = setting(e.config, "training.epochs");
  if (tier == nullptr || e.keeps_copies || epochs.empty() || epochs == "1") return "";
  // JSON is flow style.
  return fmt::format("storage.{}={{type: cached, inner: {}}}", e.tier, to_json(*tier).dump());
}

}  // namespace

Findings storage_findings(const Evidence& e, double cost) {
  const Reading reading = reading_of(e);
  Finding finding{"storage_latency", "", cost, storage_evidence(e, reading), {}, "", gain_of(cost)};
  if (at_its_rate(e, reading)) {
    finding.resource = "storage_bandwidth";
    finding.text =
        fmt::format("Tier '{}' gives all that it can: fewer bytes or a faster tier.", e.tier);
    finding.advice =
        "keep the data set on a faster tier, or a cache in front of this one; smaller images";
    if (const std::string cached = cached_tier(e); !cached.empty()) {
      finding.overrides.push_back(cached);
    }
    return {finding};
  }
  finding.text = fmt::format(
      "Single reads from tier '{}' take long and few are under way at a time: more workers.",
      e.tier);
  const int64_t workers = std::min(kMaxWorkers, kMoreReaders * e.workers);
  if (workers > e.workers) finding.overrides.push_back(fmt::format("loader.workers={}", workers));
  if (!e.has_workers) finding.overrides.emplace_back("loader.type=prefetched");
  return {finding};
}

}  // namespace stoker
