#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "io/metrics/run_totals.h"

namespace stoker {

// Where a run stood at a moment of its course. A value. All sums are since the loop began, so that
// what passed between two points is their difference, however many were left out between them.
struct HistoryPoint {
  RunTotals totals;
  double queue_known_s = 0;    // time in which the queue before the trainer was looked at
  double queue_fill_s = 0;     // its items / capacity, integrated over that time
  std::optional<double> loss;  // the last that was read
};

// A run's course in a bounded number of points, so that a run of seconds and one of weeks both fill
// a page: where there would be more, every second point is left out, and points lie twice as far
// apart from then on. One thread at a time.
//
// Rates and shares of a piece are those of two neighbours:
//
//   const RunTotals passed = point.totals - before.totals;
//   passed.images / passed.wall_s                                             // images per second
//   (point.queue_fill_s - before.queue_fill_s) / (point.queue_known_s - before.queue_known_s)
class History {
 public:
  // At most `max_points` points (two or more), at first `point_s` seconds or more apart.
  explicit History(size_t max_points = 512, double point_s = 0.25)
      : max_points_(max_points), point_s_(point_s) {}

  // Where the run stands now; replaces the last point while that one is not far enough from the one
  // before. queue_fill: items / capacity since the last call.
  void add(const RunTotals& totals, std::optional<double> queue_fill, std::optional<double> loss);
  // Oldest first. Valid until the next add().
  const std::vector<HistoryPoint>& points() const { return points_; }

 private:
  size_t max_points_;
  double point_s_;
  std::vector<HistoryPoint> points_;
};

}  // namespace stoker
