#include "io/storage/tier_figures.h"

#include <chrono>

namespace stoker {
namespace {

// MB/s: the study's IOR figures, best of several runs of a 5 GB file. The latencies were not
// measured: they are assumed, in their order of magnitude. Writes have none, because they stream;
// what makes them durable (sync, rename) is metadata.
TierFigures figures_of(TierProfile profile) {
  switch (profile) {
    case TierProfile::hdd:
      return {profile, 163, 133.1, 8, 0, 8};
    case TierProfile::ssd:
      return {profile, 280, 195.1, 0.1, 0, 0.1};
    case TierProfile::optane:
      return {profile, 1603, 511.8, 0.01, 0, 0.01};
    case TierProfile::lustre:
      return {profile, 1968, 991.9, 1, 0, 1};
  }
  return {};
}

Clock::duration from_ms(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

EnumNames<TierProfile> enum_names(TierProfile) {
  return {{"hdd", TierProfile::hdd},
          {"ssd", TierProfile::ssd},
          {"optane", TierProfile::optane},
          {"lustre", TierProfile::lustre}};
}

void TierFigures::check(const Section& section) const {
  if (profile || (read_mb_per_s && write_mb_per_s)) return;
  section.fail_at(section.node().at, "give a profile, or read_mb_per_s and write_mb_per_s");
}

TierCosts TierFigures::costs() const {
  const TierFigures base = profile ? figures_of(*profile) : TierFigures{};
  const auto pick = [](const std::optional<double>& given, const std::optional<double>& fallback) {
    return given.value_or(fallback.value_or(0));
  };
  return {1e6 * pick(read_mb_per_s, base.read_mb_per_s),
          1e6 * pick(write_mb_per_s, base.write_mb_per_s),
          from_ms(pick(read_latency_ms, base.read_latency_ms)),
          from_ms(pick(write_latency_ms, base.write_latency_ms)),
          from_ms(pick(metadata_latency_ms, base.metadata_latency_ms))};
}

}  // namespace stoker
