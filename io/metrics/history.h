#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/metrics/idle.h"
#include "io/metrics/ledger.h"

namespace stoker {

// What passed between two moments of a run. A value. Seconds.
struct HistoryPoint {
  double end_s = 0;  // since the loop began
  double wall_s = 0;
  std::array<double, kSegments> segments{};
  double observed = 0;
  std::array<double, kIdleCauses> idle{};
  int64_t images = 0;
  std::optional<double> queue_fill;  // items / capacity of the queue before the trainer, mean
  std::optional<double> loss;        // last
};

// A run's course in a bounded number of points, so that a run of seconds and one of weeks both fill
// a page: where there would be more, neighbours are merged, and points cover twice the time from
// then on. One thread at a time.
class History {
 public:
  // At most `max_points` points, of `point_s` seconds at first.
  explicit History(size_t max_points = 512, double point_s = 0.25)
      : max_points_(max_points), point_s_(point_s) {}

  // Adds what passed since the last call; to the last point, until that is long enough.
  void add(const HistoryPoint& piece);
  const std::vector<HistoryPoint>& points() const { return points_; }

 private:
  size_t max_points_;
  double point_s_;
  std::vector<HistoryPoint> points_;
};

}  // namespace stoker
