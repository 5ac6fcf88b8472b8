#include "io/storage/emulated/tier_figures.h"

#include <chrono>

namespace stoker {
namespace {

// Where the figures come from is in README.md, figure by figure. The queue depth of the hard disk
// is the one with which 8 threads read files of 112 KB 2.3 times as fast as one does: with
// t = 112 KB / 163 MB/s, (8.1 ms + t) / (8 ms / 2.553 + t) = 2.3.
// In the order of TierProfile.
struct Profile {
  const char* name;
  TierFigures figures;
};
constexpr Profile kProfiles[] = {
    {"hdd", {TierProfile::hdd, 163, 133.1, 0.1, 0.1, 12.36, 12.36, 2.118, 0, {}}},
    {"ssd", {TierProfile::ssd, 280, 195.1, 0.1, 0.025, 0.1, 0, 9.7, 0, {}}},
    {"optane", {TierProfile::optane, 1603, 511.8, 0.0089, 0.01, 0.0089, 0, 5.2, 0, {}}},
    {"lustre", {TierProfile::lustre, 1968, 991.9, 1, 1, 1, 0, 8, 0, {}}},
    {"nfs", {TierProfile::nfs, 1100, 1100, 0.5, 0.5, 0.5, 0, 64, 0.3, {}}},
    {"s3-like", {TierProfile::s3_like, 1100, 1100, 30, 30, 30, 0, 165, 0.5, 90}}};

Clock::duration from_ms(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

EnumNames<TierProfile> enum_names(TierProfile) {
  EnumNames<TierProfile> names;
  for (const Profile& known : kProfiles) names.emplace_back(known.name, *known.figures.profile);
  return names;
}

void TierFigures::check(const Section& section) const {
  if (slow_factor && !slow_fraction) {
    section.fail("slow_factor", "is for slow_fraction: give that, or leave it out");
  }
  if (profile || (read_mb_per_s && write_mb_per_s)) return;
  section.fail_at(section.node().at, "give a profile, or read_mb_per_s and write_mb_per_s");
}

TierCosts TierFigures::costs() const {
  const TierFigures base =
      profile ? kProfiles[static_cast<size_t>(*profile)].figures : TierFigures();
  const auto pick = [&](std::optional<double> TierFigures::*figure, double otherwise = 0) {
    return (this->*figure).value_or((base.*figure).value_or(otherwise));
  };
  return {.read_bytes_per_s = 1e6 * pick(&TierFigures::read_mb_per_s),
          .write_bytes_per_s = 1e6 * pick(&TierFigures::write_mb_per_s),
          .read_latency = from_ms(pick(&TierFigures::read_latency_ms)),
          .write_latency = from_ms(pick(&TierFigures::write_latency_ms)),
          .metadata_latency = from_ms(pick(&TierFigures::metadata_latency_ms)),
          .seek = from_ms(pick(&TierFigures::seek_ms)),
          .queue_depth = pick(&TierFigures::queue_depth, 1),
          .latency_sigma = pick(&TierFigures::latency_sigma),
          .stream_bytes_per_s = 1e6 * pick(&TierFigures::stream_mb_per_s),
          .slow_fraction = slow_fraction.value_or(0),
          .slow_factor = slow_factor.value_or(50)};
}

}  // namespace stoker
