#include "app/tools/report/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "app/base/result_table.h"

namespace stoker {
namespace {

size_t block_of(const std::vector<double>&) { return 1; }
size_t block_of(const std::vector<Piece>& pieces) {
  const auto block = static_cast<size_t>(std::lround(std::cbrt(pieces.size())));
  return std::max<size_t>(1, block);
}

template <class T>
double resampled(const std::vector<T>& values, std::mt19937_64& random) {
  const size_t block = block_of(values);
  std::vector<T> drawn;
  drawn.reserve(values.size() + block);
  while (drawn.size() < values.size()) {
    const size_t begin = random() % values.size();
    for (size_t i = 0; i < block; ++i) drawn.push_back(values[(begin + i) % values.size()]);
  }
  drawn.resize(values.size());
  return level(drawn);
}

template <class T>
Interval interval(const std::vector<T>& a, const std::vector<T>& b, Differing how, int draws,
                  uint64_t seed) {
  const auto compare = [&](double of_a, double of_b) {
    return how == Differing::ratio ? of_b / of_a - 1 : of_b - of_a;
  };
  std::mt19937_64 random(seed);
  std::vector<double> differences;
  for (int i = 0; i < draws; ++i) {
    const double base = resampled(a, random);
    differences.push_back(compare(base, resampled(b, random)));
  }
  std::ranges::sort(differences);
  const auto at = [&](double q) {
    return differences[static_cast<size_t>(q * static_cast<double>(differences.size() - 1))];
  };
  return {compare(level(a), level(b)), at(0.025), at(0.975)};
}

}  // namespace

double level(const std::vector<double>& values) { return spread(values).median; }

double level(const std::vector<Piece>& pieces) {
  double sum = 0;
  double length = 0;
  for (const Piece& piece : pieces) {
    sum += piece.value * piece.length;
    length += piece.length;
  }
  return sum / length;
}

Interval difference(const std::vector<double>& a, const std::vector<double>& b, Differing how,
                    int draws, uint64_t seed) {
  return interval(a, b, how, draws, seed);
}

Interval difference(const std::vector<Piece>& a, const std::vector<Piece>& b, Differing how,
                    int draws, uint64_t seed) {
  return interval(a, b, how, draws, seed);
}

}  // namespace stoker
