#include "app/analysis/bootstrap.h"

#include <algorithm>
#include <random>

#include "app/statistics.h"

namespace stoker {
namespace {

double resampled_median(const std::vector<double>& values, std::mt19937_64& random) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) value = values[random() % values.size()];
  return spread(std::move(drawn)).median;
}

}  // namespace

Interval relative_difference(const std::vector<double>& a, const std::vector<double>& b, int draws,
                             uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> differences;
  for (int i = 0; i < draws; ++i) {
    const double base = resampled_median(a, random);
    differences.push_back(resampled_median(b, random) / base - 1);
  }
  std::ranges::sort(differences);
  const auto at = [&](double q) {
    return differences[static_cast<size_t>(q * static_cast<double>(differences.size() - 1))];
  };
  return {spread(b).median / spread(a).median - 1, at(0.025), at(0.975)};
}

}  // namespace stoker
