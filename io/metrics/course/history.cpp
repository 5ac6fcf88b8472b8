#include "io/metrics/course/history.h"

namespace stoker {

void History::add(const RunTotals& totals, std::optional<double> queue_fill,
                  std::optional<double> loss) {
  HistoryPoint next = points_.empty() ? HistoryPoint() : points_.back();
  if (queue_fill) {
    const double passed = totals.wall_s - next.totals.wall_s;
    next.queue_known_s += passed;
    next.queue_fill_s += *queue_fill * passed;
  }
  next.totals = totals;
  if (loss) next.loss = loss;
  const size_t size = points_.size();
  const double before = size < 2 ? 0 : points_[size - 2].totals.wall_s;
  if (size > 0 && points_.back().totals.wall_s - before < point_s_) {
    points_.back() = next;
    return;
  }
  if (size >= max_points_) {
    for (size_t i = 0; 2 * i + 1 < size; ++i) points_[i] = points_[2 * i + 1];
    points_.resize(size / 2);
    point_s_ *= 2;
  }
  points_.push_back(next);
}

}  // namespace stoker
