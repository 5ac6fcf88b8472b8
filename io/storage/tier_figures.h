#pragma once

#include <optional>

#include "io/core/config.h"
#include "io/storage/tier_model.h"

namespace stoker {

// The devices of the 2018 study (Chien et al.).
enum class TierProfile { hdd, ssd, optane, lustre };
EnumNames<TierProfile> enum_names(TierProfile);

// What an emulated tier can do, as its options say. A value; any thread.
struct TierFigures {
  std::optional<TierProfile> profile = {};
  std::optional<double> read_mb_per_s = {};
  std::optional<double> write_mb_per_s = {};
  std::optional<double> read_latency_ms = {};
  std::optional<double> write_latency_ms = {};
  std::optional<double> metadata_latency_ms = {};

  template <class V>
  void visit(V& v) {
    constexpr Limits kBandwidth{0.01, 1e6}, kLatency{0, 60000};
    v("profile", profile,
      "a device of Chien et al. 2018: read/write MB/s measured there with IOR, and latencies that "
      "are assumed (reads and metadata): hdd 163/133.1, 8 ms; ssd 280/195.1, 0.1 ms; optane "
      "1603/511.8, 0.01 ms; lustre 1968/991.9, 1 ms");
    v("read_mb_per_s", read_mb_per_s, "10^6 bytes/s, of all threads; absent: the profile's",
      kBandwidth);
    v("write_mb_per_s", write_mb_per_s, "10^6 bytes/s, of all threads; absent: the profile's",
      kBandwidth);
    v("read_latency_ms", read_latency_ms, "of every read; absent: the profile's, or 0", kLatency);
    v("write_latency_ms", write_latency_ms, "of every write; absent: 0", kLatency);
    v("metadata_latency_ms", metadata_latency_ms,
      "of every other operation: open, create, sync, rename, ...; absent: the profile's, or 0",
      kLatency);
  }
  // A profile, or both bandwidths.
  void check(const Section& section) const;
  // A figure that is given replaces the profile's.
  TierCosts costs() const;
};

}  // namespace stoker
