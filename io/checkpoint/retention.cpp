#include "io/checkpoint/retention.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace stoker {

std::vector<int64_t> sets_to_remove(const std::map<int64_t, std::optional<double>>& sets,
                                    std::optional<int64_t> safe_step,
                                    const CheckpointOptions& options) {
  std::set<int64_t> kept;
  for (auto set = sets.rbegin(); set != sets.rend(); ++set) {
    if (static_cast<int64_t>(kept.size()) == options.keep_last) break;
    kept.insert(set->first);
  }
  std::vector<std::pair<double, int64_t>> scored;
  for (const auto& [step, score] : sets) {
    if (options.keep_every && step % *options.keep_every == 0) kept.insert(step);
    if (score && !std::isnan(*score)) scored.emplace_back(-*score, step);  // of equals the oldest
  }
  std::sort(scored.begin(), scored.end());
  const auto best = std::min<size_t>(scored.size(), static_cast<size_t>(options.keep_best));
  for (size_t i = 0; i < best; ++i) kept.insert(scored[i].second);
  std::vector<int64_t> gone;
  for (const auto& [step, score] : sets) {
    if (!kept.contains(step) && safe_step && step < *safe_step) gone.push_back(step);
  }
  return gone;
}

}  // namespace stoker
