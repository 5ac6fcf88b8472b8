#include "io/metrics/evaluations.h"

#include <algorithm>
#include <set>

namespace stoker {
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

void Evaluations::thin() {
  const int64_t steps = kept_.back().step - kept_.front().step;
  const int64_t apart = std::max<int64_t>(1, 2 * steps / static_cast<int64_t>(most_));
  const std::set<size_t> best = best_of(kept_);
  std::vector<Evaluation> fewer;
  int64_t due = kept_.front().step;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const bool on_time = kept_[i].step >= due;
    if (on_time) due = kept_[i].step + apart;
    if (on_time || best.contains(i) || i + 1 == kept_.size()) {
      fewer.push_back(std::move(kept_[i]));
    }
  }
  kept_ = std::move(fewer);
}

}  // namespace stoker
