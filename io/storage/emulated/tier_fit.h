#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// What `threads` threads, each doing one operation after the other, got out of a device. A value.
// As measured by `stoker bench storage`; sequential where it is not random.
struct TierPoint {
  bool write = false;
  bool random = false;
  uint64_t bytes = 0;  // of one operation
  int64_t threads = 1;
  double ops_per_s = 0;
};

// The figures of an emulated tier that behaves like the points it was fitted to. A value.
struct TierFit {
  double read_mb_per_s = 0;  // 0: nothing was read; likewise below
  double write_mb_per_s = 0;
  double read_latency_ms = 0;
  double write_latency_ms = 0;
  double metadata_latency_ms = 0;
  double seek_ms = 0;
  int64_t queue_depth = 1;
  // More threads were always faster, so the true queue may be deeper than any that was tried.
  bool queue_depth_unseen = false;

  // Operations/s of the model: min(n / (L + t), queue_depth / L, 1 / t) for n threads, L the
  // latency and, where random, the seek, t the time of the bytes at the bandwidth.
  double predict(const TierPoint& point) const;
  // "{type: emulated, read_mb_per_s: 163, ...}" without what was not measured; `inner` is the YAML
  // of the tier below.
  std::string yaml(const std::string& inner) const;
};

// The figures whose predictions lie closest to the points, by the sum of the squared logarithms of
// their ratios. Queue depth and seek are taken from the reads if there are any. The points say
// nothing about metadata_latency_ms, so it is left 0. Deterministic; `points` must not be empty,
// nor any of them 0 operations/s.
TierFit fit_tier(const std::vector<TierPoint>& points);

}  // namespace stoker
