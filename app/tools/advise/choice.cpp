#include "app/tools/advise/choice.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

namespace stoker {
namespace {

double run_s(const TierLoad& slow, const TierLoad& fast, const RunPace& pace) {
  const double alone = slow.alone_s + fast.alone_s + pace.decode_s;
  const double reading =
      std::max({alone / static_cast<double>(pace.readers), slow.at_least_s(), fast.at_least_s()});
  return pace.overlaps ? std::max(reading, pace.rest_s) : reading + pace.rest_s;
}

// Takes objects in this order. What does not fit is passed over.
Chosen fill(const std::vector<size_t>& order, const std::vector<ObjectUse>& uses,
            uint64_t capacity) {
  Chosen chosen;
  for (const size_t i : order) {
    if (uses[i].bytes > capacity) continue;
    capacity -= uses[i].bytes;
    chosen.push_back(i);
  }
  std::ranges::sort(chosen);
  return chosen;
}

// Like fill(), but stops where the run does not get shorter any more: a fast tier may have too few
// slots for all.
Chosen best_part(const std::vector<size_t>& order, const std::vector<ObjectUse>& uses,
                 const StagingCosts& costs, uint64_t capacity) {
  constexpr double kRounding = 1e-9;
  TierLoad slow, fast;
  for (const TierLoad& load : costs.slow) slow += load;
  double least = run_s(slow, fast, costs.pace);
  Chosen chosen;
  size_t best = 0;
  for (const size_t i : order) {
    if (uses[i].bytes > capacity) continue;
    capacity -= uses[i].bytes;
    chosen.push_back(i);
    slow += costs.slow[i] * -1;
    fast += costs.fast[i];
    const double seconds = run_s(slow, fast, costs.pace);
    if (seconds >= least * (1 - kRounding)) continue;
    least = seconds;
    best = chosen.size();
  }
  chosen.resize(best);
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<size_t> smallest_first(const std::vector<ObjectUse>& uses) {
  std::vector<size_t> order(uses.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return uses[i].bytes; });
  return order;
}

}  // namespace

StagingCosts::StagingCosts(const std::vector<ObjectUse>& uses, const TierCostModel& slow_model,
                           const TierCostModel& fast_model, const RunPace& run_pace)
    : slow_error(slow_model.error), fast_error(fast_model.error), pace(run_pace) {
  for (const ObjectUse& use : uses) {
    slow.push_back(load_of(use, slow_model));
    fast.push_back(load_of(use, fast_model));
  }
}

PredictedTime predict(const StagingCosts& costs, const Chosen& chosen) {
  TierLoad slow, fast;
  for (const TierLoad& load : costs.slow) slow += load;
  for (const size_t i : chosen) {
    slow += costs.slow[i] * -1;
    fast += costs.fast[i];
  }
  const auto at = [&](double slow_factor, double fast_factor) {
    return run_s(slow * slow_factor, fast * fast_factor, costs.pace);
  };
  return {at(1, 1), at(1 / (1 + costs.slow_error), 1 / (1 + costs.fast_error)),
          at(1 + costs.slow_error, 1 + costs.fast_error)};
}

Chosen choose_below(const std::vector<ObjectUse>& uses, uint64_t below, uint64_t capacity) {
  std::vector<size_t> order = smallest_first(uses);
  std::erase_if(order, [&](size_t i) { return uses[i].bytes >= below; });
  return fill(order, uses, capacity);
}

Chosen choose_most_saved(const std::vector<ObjectUse>& uses, const StagingCosts& costs,
                         uint64_t capacity) {
  std::vector<size_t> useful = smallest_first(uses);
  std::erase_if(useful, [&](size_t i) { return uses[i].requests <= 0; });
  Chosen best = best_part(useful, uses, costs, capacity);
  double least = predict(costs, best).seconds;
  for (const auto part : {&TierLoad::alone_s, &TierLoad::slots_s, &TierLoad::pipe_s}) {
    std::vector<double> saved_per_byte(uses.size());
    for (const size_t i : useful) {
      saved_per_byte[i] = (costs.slow[i].*part - costs.fast[i].*part) /
                          static_cast<double>(std::max<uint64_t>(uses[i].bytes, 1));
    }
    std::vector<size_t> order = useful;
    std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return saved_per_byte[i]; });
    Chosen chosen = best_part(order, uses, costs, capacity);
    const double seconds = predict(costs, chosen).seconds;
    if (seconds < least) {
      least = seconds;
      best = std::move(chosen);
    }
  }
  return best;
}

}  // namespace stoker
