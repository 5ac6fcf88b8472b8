#include "io/metrics/history.h"

namespace stoker {
namespace {

void merge(HistoryPoint& into, const HistoryPoint& next) {
  if (into.queue_fill && next.queue_fill) {
    const double both = into.wall_s + next.wall_s;
    if (both > 0) {
      into.queue_fill = (*into.queue_fill * into.wall_s + *next.queue_fill * next.wall_s) / both;
    }
  } else if (next.queue_fill) {
    into.queue_fill = next.queue_fill;
  }
  into.end_s = next.end_s;
  into.wall_s += next.wall_s;
  for (size_t i = 0; i < kSegments; ++i) into.segments[i] += next.segments[i];
  into.observed += next.observed;
  for (size_t i = 0; i < kIdleCauses; ++i) into.idle[i] += next.idle[i];
  into.images += next.images;
  if (next.loss) into.loss = next.loss;
}

}  // namespace

void History::add(const HistoryPoint& piece) {
  if (!points_.empty() && points_.back().wall_s < point_s_) {
    merge(points_.back(), piece);
    return;
  }
  if (points_.size() >= max_points_) {
    size_t kept = 0;
    for (size_t i = 0; i < points_.size(); i += 2, ++kept) {
      points_[kept] = points_[i];
      if (i + 1 < points_.size()) merge(points_[kept], points_[i + 1]);
    }
    points_.resize(kept);
    point_s_ *= 2;
  }
  points_.push_back(piece);
}

}  // namespace stoker
