#include "io/metrics/course/history.h"

#include <algorithm>
#include <bit>
#include <set>

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

namespace {

// The places of those that have the highest value of a measure; of equal ones the first.
std::set<size_t> best_of(const std::vector<Evaluation>& evaluations) {
  std::map<std::string, size_t> best;
  for (size_t i = 0; i < evaluations.size(); ++i) {
    for (const auto& [name, value] : evaluations[i].measures) {
      size_t& place = best.try_emplace(name, i).first->second;
      if (value > evaluations[place].measures.at(name)) place = i;
    }
  }
  std::set<size_t> places;
  for (const auto& [name, place] : best) places.insert(place);
  return places;
}

}  // namespace

std::vector<std::pair<std::string, double>> other_measures(const Evaluation& evaluation) {
  std::vector<std::pair<std::string, double>> others;
  for (const auto& measure : evaluation.measures) {
    if (std::ranges::find(kAccuracyMeasures, measure.first) == kAccuracyMeasures.end()) {
      others.emplace_back(measure);
    }
  }
  return others;
}

void Evaluations::add(Evaluation evaluation) {
  if (kept_.size() >= most_) thin();
  kept_.push_back(std::move(evaluation));
}

// Keeps the first of each span of steps. Lengths are powers of two, so that what is first in a long
// span was first in a short one.
void Evaluations::thin() {
  const auto steps = static_cast<uint64_t>(kept_.back().step - kept_.front().step);
  const auto span = static_cast<int64_t>(std::bit_ceil(2 * steps / most_ + 1));
  const std::set<size_t> best = best_of(kept_);
  std::vector<Evaluation> fewer;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const bool first = i == 0 || kept_[i].step / span != kept_[i - 1].step / span;
    if (first || best.contains(i) || i + 1 == kept_.size()) fewer.push_back(kept_[i]);
  }
  kept_ = std::move(fewer);
}

}  // namespace stoker
