#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker {

// A figure with its 95 % confidence interval. A value.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// median(b) / median(a) - 1, by the percentile bootstrap (Efron 1979): both samples are drawn anew
// with replacement `draws` times. A pure function; any thread. Neither sample may be empty; values
// above 0.
Interval relative_difference(const std::vector<double>& a, const std::vector<double>& b,
                             int draws = 2000, uint64_t seed = 1);

// median(b) - median(a) in the same way, for values that may be 0.
Interval absolute_difference(const std::vector<double>& a, const std::vector<double>& b,
                             int draws = 2000, uint64_t seed = 1);

// A piece of a run's course: a rate or share, and for how long. A value.
struct Piece {
  double value = 0;
  double length = 0;
};
// The value of all pieces together: their sum weighted by length. The total length must be above 0.
double mean(const std::vector<Piece>& pieces);

// Differences of mean(), for pieces in their order. Neighbours resemble each other, so as many
// neighbours as the cube root of their number are drawn together (circular block bootstrap, Politis
// and Romano 1992).
Interval relative_difference(const std::vector<Piece>& a, const std::vector<Piece>& b,
                             int draws = 2000, uint64_t seed = 1);
Interval absolute_difference(const std::vector<Piece>& a, const std::vector<Piece>& b,
                             int draws = 2000, uint64_t seed = 1);

}  // namespace stoker
