#include "io/metrics/record/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stoker {
namespace {

// What a step may consist of.
double trained_s(const std::array<double, kSegments>& segments) {
  double sum = 0;
  for (size_t i = 0; i < kSegments; ++i) {
    const auto segment = static_cast<Segment>(i);
    const bool other = segment == Segment::eval || segment == Segment::checkpoint_stall ||
                       segment == Segment::paused;
    if (!other) sum += segments[i];
  }
  return sum;
}

}  // namespace

RunRecord between(const RunRecord& before, const RunRecord& now) {
  RunRecord piece = now;
  piece.run.totals = now.run.totals - before.run.totals;
  piece.elapsed_s = now.elapsed_s - before.elapsed_s;
  piece.use = {before.machine, now.machine, piece.elapsed_s};
  for (size_t i = 0; i < std::min(now.tiers.size(), before.tiers.size()); ++i) {
    TierMeter::State& tier = piece.tiers[i];
    for (size_t op = 0; op < kTierOps; ++op) tier.ops[op] -= before.tiers[i].ops[op];
    for (size_t way = 0; way < tier.moved.size(); ++way) {
      tier.moved[way].busy_s -= before.tiers[i].moved[way].busy_s;
    }
  }
  for (size_t i = 0; i < std::min(now.run.ranks.size(), before.run.ranks.size()); ++i) {
    piece.run.ranks[i] -= before.run.ranks[i];
  }
  return piece;
}

RunRecord with_step_under_way(RunRecord record) {
  const RunPhase phase = record.run.phase;
  if (phase != RunPhase::train && phase != RunPhase::eval) return record;
  RunTotals& totals = record.run.totals;
  // Whole steps only would make saw teeth of a constant rate. After the last step none is under
  // way.
  const double done = trained_s(record.run.doing.spent_s) - trained_s(totals.segments);
  const bool last = totals.steps == record.run.info.steps_planned;
  if (record.run.step_s > 0 && done > 0 && !last) {
    totals.images += static_cast<int64_t>(static_cast<double>(record.run.step_images) *
                                          std::min(1.0, done / record.run.step_s));
  }
  totals.segments = record.run.doing.spent_s;
  totals.wall_s = std::max(totals.wall_s, record.elapsed_s);
  return record;
}

namespace {

// Shares of the bytes that were asked for. A run is warm if block devices delivered less than the
// first, and cold if they delivered more than the second.
constexpr double kWarmFetched = 0.05;
constexpr double kColdFetched = 0.90;

using CacheLevel = CacheVerdict::Level;

CacheLevel cache_level(double fetched, double asked) {
  if (fetched < kWarmFetched * asked) return CacheLevel::warm;
  return fetched < kColdFetched * asked ? CacheLevel::mixed : CacheLevel::cold;
}

CacheLevel cache_level(const EpochReads& reads) {
  return cache_level(static_cast<double>(reads.fetched), static_cast<double>(reads.asked));
}

// "; epoch 1 was cold, epochs 2 to 9 were warm"
std::string epochs_text(const std::vector<EpochReads>& epochs) {
  constexpr size_t kMost = 6;
  if (epochs.size() < 2) return "";
  std::string text;
  for (size_t i = 0; i < std::min(epochs.size(), kMost); ++i) {
    const EpochReads& reads = epochs[i];
    text += text.empty() ? "; " : ", ";
    text += reads.first == reads.last
                ? fmt::format("epoch {} was", reads.first)
                : fmt::format("epochs {} to {} were", reads.first, reads.last);
    text += fmt::format(" {}", to_string(cache_level(reads)));
  }
  return epochs.size() > kMost ? text + ", and so on" : text;
}

}  // namespace

const char* to_string(CacheVerdict::Level level) {
  constexpr std::array<const char*, 4> kNames{"unknown", "cold", "mixed", "warm"};
  return kNames[static_cast<size_t>(level)];
}

std::string missed_page_cache(const CacheEvidence& cache) {
  if (cache.wanted == PageCache::as_is) return "";
  const std::string wanted = fmt::format("run.page_cache is {}, but ", to_string(cache.wanted));
  if (!cache.resident_before) {
    return wanted + "the data lie in no files whose pages can be looked at";
  }
  const double resident = *cache.resident_before;
  if (cache.wanted == PageCache::cold ? is_cold(resident) : is_warm(resident)) return "";
  return wanted + fmt::format(
                      "when the run began the page cache held {:.0f} % of the data ({} "
                      "files looked at)",
                      100 * resident, cache.files_looked_at);
}

void add_epochs(CacheEvidence& cache, const EpochReads& reads) {
  constexpr size_t kMost = 1000;
  std::vector<EpochReads>& epochs = cache.epochs;
  if (reads.asked == 0) return;
  if (epochs.empty() ||
      (cache_level(epochs.back()) != cache_level(reads) && epochs.size() < kMost)) {
    epochs.push_back(reads);
    return;
  }
  epochs.back().last = reads.last;
  epochs.back().asked += reads.asked;
  epochs.back().fetched += reads.fetched;
}

CacheVerdict judge_cache(const RunRecord& record) {
  const CacheEvidence& cache = record.run.cache;
  const LoaderMeter::State& loader = record.loaders.front();
  const double asked = static_cast<double>(loader.of(Stage::read).bytes);
  std::string resident;
  if (cache.resident_before) {
    resident = fmt::format(
        "; before the run the page cache held {:.0f} % of the data ({} files looked at)",
        100 * *cache.resident_before, cache.files_looked_at);
  }
  // A page that one rank fetched serves them all: what came for this one says nothing then.
  if (record.run.info.world_size > 1 && cache.resident_before) {
    const double share = *cache.resident_before;
    return {is_cold(share)   ? CacheLevel::cold
            : is_warm(share) ? CacheLevel::warm
                             : CacheLevel::mixed,
            fmt::format("before the run the page cache held {:.0f} % of the data ({} files looked "
                        "at); ranks of a machine share it",
                        100 * share, cache.files_looked_at)};
  }
  if (!loader.storage_bytes || asked <= 0) {
    return {CacheLevel::unknown, "not known where the data came from" + resident};
  }
  const double fetched = static_cast<double>(*loader.storage_bytes);
  const std::string epochs = epochs_text(cache.epochs);
  std::string text =
      fmt::format("{:.1f} % of the {:.1f} MB asked for came from block devices{}{}",
                  100 * std::min(1.0, fetched / asked), 1e-6 * asked, resident, epochs);
  const CacheLevel level = cache_level(fetched, asked);
  if (level == CacheLevel::warm && epochs.empty()) {
    text += ": this run does not measure the storage below the page cache";
  }
  return {level, text};
}

}  // namespace stoker
