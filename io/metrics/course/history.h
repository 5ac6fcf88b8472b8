#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
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

// What the model came to on the test split. A value.
struct Evaluation {
  // When it was made: the last epoch that had begun, and the finished steps.
  int64_t epoch = 0;
  int64_t step = 0;
  // How many samples were looked at.
  int64_t samples = 0;
  // What evaluation.metric measures, by name: shares of 0 to 1. No name is that of another member.
  std::map<std::string, double> measures;
  // Wall time that it took.
  double seconds = 0;
};
// The measures that are an accuracy. The label is the first, or among the first five, of the
// model's answers; the mean over the classes of each class's top-1, so that a large class counts no
// more; what guessing would come to: 1 / classes, and always the commonest class.
inline constexpr std::array<const char*, 5> kAccuracyMeasures{"top1", "top5", "mean_per_class",
                                                              "chance", "largest_class"};
// The others: "auc", "iou", or those of a plug-in's metric.
std::vector<std::pair<std::string, double>> other_measures(const Evaluation& evaluation);

// The evaluations of a run, however many there are, in a bounded number: all of them at first.
// Where there would be more, they are thinned to half as many, which lie evenly over the steps;
// those with the highest value of a measure, and the newest, stay. One thread at a time.
class Evaluations {
 public:
  // At most `most` (two or more) and, after thinning, half of them and the best ones.
  explicit Evaluations(size_t most = 512) : most_(most) {}

  // In their order.
  void add(Evaluation evaluation);
  // Oldest first. Valid until the next add().
  const std::vector<Evaluation>& kept() const { return kept_; }

 private:
  void thin();

  size_t most_;
  std::vector<Evaluation> kept_;
};

}  // namespace stoker
