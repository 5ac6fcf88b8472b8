#pragma once

#include <optional>

#include "io/core/config/config.h"
#include "io/storage/emulated/tier_device.h"

namespace stoker {

// The devices of the study of 2018 (Chien et al.: hdd, ssd, optane, lustre), and two of other
// kinds.
enum class TierProfile { hdd, ssd, optane, lustre, nfs, s3_like };
EnumNames<TierProfile> enum_names(TierProfile);

// What an emulated tier can do, as its options say. A value; any thread. Absent: the profile's
// figure, and without a profile 0 or what the option's help says. docs/notes/emulated-tier.md says
// where the profiles' figures come from.
//
// Rates are in 10^6 bytes/s, as in the study, and of all threads and processes together; latencies
// are means in ms; the queue depth is a number of latencies that pass side by side and need not be
// whole.
struct TierFigures {
  std::optional<TierProfile> profile = {};
  std::optional<double> read_mb_per_s = {};
  std::optional<double> write_mb_per_s = {};
  std::optional<double> read_latency_ms = {};
  std::optional<double> write_latency_ms = {};
  std::optional<double> metadata_latency_ms = {};
  std::optional<double> seek_ms = {};
  std::optional<double> queue_depth = {};
  std::optional<double> latency_sigma = {};
  std::optional<double> stream_mb_per_s = {};
  std::optional<double> slow_fraction = {};
  std::optional<double> slow_factor = {};

  template <class V>
  void visit(V& v) {
    constexpr Limits kBandwidth{0.01, 1e6}, kLatency{0, 60000};
    v("profile", profile,
      "Take the figures of a real device. The rates of the first four are IOR measurements by "
      "Chien et al. 2018; latencies and queues are from data sheets, manuals and measurements "
      "(docs/notes/emulated-tier.md). Read/write MB/s, then latency: hdd 163/133.1, 0.1 ms, seek "
      "12.36 ms, metadata 12.36 ms, queue depth 2.118; ssd 280/195.1, 0.1 ms, write 0.025 ms, "
      "queue depth 9.7; optane 1603/511.8, 0.0089 ms, write 0.01 ms, queue depth 5.2; lustre "
      "1968/991.9, 1 ms, queue depth 8; nfs 1100/1100, 0.5 ms, queue depth 64, sigma 0.3; s3-like "
      "1100/1100, 30 ms, queue depth 165, sigma 0.5, stream 90 MB/s.");
    v("read_mb_per_s", read_mb_per_s,
      "The rate of all reads together, in 10^6 bytes per second. Without it the profile says.",
      kBandwidth);
    v("write_mb_per_s", write_mb_per_s,
      "The rate of all writes together, in 10^6 bytes per second. Without it the profile says.",
      kBandwidth);
    v("read_latency_ms", read_latency_ms,
      "Milliseconds that every read takes before its first byte; they include opening the object. "
      "Without it the profile says, else it is 0.",
      kLatency);
    v("write_latency_ms", write_latency_ms,
      "Milliseconds that every write takes before its first byte. Without it the profile says, "
      "else it is 0.",
      kLatency);
    v("metadata_latency_ms", metadata_latency_ms,
      "Milliseconds that every other operation takes, such as open, create, sync or rename. "
      "Without it the profile says, else it is 0.",
      kLatency);
    v("seek_ms", seek_ms,
      "Milliseconds added to a read or write that does not continue where the device's last one "
      "ended. Without it the profile says, else it is 0.",
      kLatency);
    v("queue_depth", queue_depth,
      "How many latencies may pass at the same time. The device then does at most queue_depth / "
      "latency operations per second. Without it the profile says, else it is 1.",
      Limits{1, 1e5});
    v("latency_sigma", latency_sigma,
      "How much latencies vary: the standard deviation of their logarithm (log-normal, with the "
      "given mean). With 0.5, one of 100 takes 2.8 times the mean. Without it the profile says, "
      "else it is 0 and all are equal.",
      Limits{0, 3});
    v("stream_mb_per_s", stream_mb_per_s,
      "The most that a single operation gets, in 10^6 bytes per second. Without it the profile "
      "says, else there is no limit.",
      kBandwidth);
    v("slow_fraction", slow_fraction,
      "The share of reads that take slow_factor times as long as they would, from 0 to 1, while "
      "the device serves others. Which ones is drawn. Without it: 0.",
      Limits{0, 1});
    v("slow_factor", slow_factor,
      "How many times as long the reads of slow_fraction take. Without it: 50.", Limits{1, 1e4});
  }
  // Error(ExitCode::config) unless there is a profile, or both bandwidths.
  void check(const Section& section) const;
  // The figures in the units of TierDevice. One that is given replaces the profile's. The seed is
  // left 0: it is the tier's to choose.
  TierCosts costs() const;
};

}  // namespace stoker
