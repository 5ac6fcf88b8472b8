#include "io/metrics/cache_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stoker {
namespace {

// Shares of the bytes that were asked for. A run is warm if block devices delivered less than the
// first, and cold if they delivered more than the second.
constexpr double kWarmFetched = 0.05;
constexpr double kColdFetched = 0.90;

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
    return {is_cold(share)   ? CacheVerdict::Level::cold
            : is_warm(share) ? CacheVerdict::Level::warm
                             : CacheVerdict::Level::mixed,
            fmt::format("before the run the page cache held {:.0f} % of the data ({} files looked "
                        "at); ranks of a machine share it",
                        100 * share, cache.files_looked_at)};
  }
  if (!loader.storage_bytes || asked <= 0) {
    return {CacheVerdict::Level::unknown, "not known where the data came from" + resident};
  }
  const double fetched = static_cast<double>(*loader.storage_bytes) / asked;
  const std::string figures =
      fmt::format("{:.1f} % of the {:.1f} MB asked for came from block devices{}",
                  100 * std::min(1.0, fetched), 1e-6 * asked, resident);
  if (fetched < kWarmFetched) {
    return {CacheVerdict::Level::warm,
            figures + ": this run does not measure the storage below the page cache"};
  }
  if (fetched < kColdFetched) return {CacheVerdict::Level::mixed, figures};
  return {CacheVerdict::Level::cold, figures};
}

}  // namespace stoker
