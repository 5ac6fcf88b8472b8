#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker {

// A figure with its 95 % confidence interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// median(b) / median(a) - 1, by the percentile bootstrap (Efron 1979): both samples drawn anew with
// replacement `draws` times. A function of its arguments. Neither sample is empty; values above 0.
Interval relative_difference(const std::vector<double>& a, const std::vector<double>& b,
                             int draws = 2000, uint64_t seed = 1);

// median(b) - median(a), likewise; for values that may be 0.
Interval absolute_difference(const std::vector<double>& a, const std::vector<double>& b,
                             int draws = 2000, uint64_t seed = 1);

// A piece of a course: a rate or share, and for how long.
struct Piece {
  double value = 0;
  double length = 0;
};
// That of the whole: what the pieces make together, over their time. Its length is above 0.
double mean(const std::vector<Piece>& pieces);

// The same of mean(), for pieces in their order, in which neighbours resemble each other: so many
// neighbours as the cube root of their number are drawn together (the circular block bootstrap,
// Politis and Romano 1992).
Interval relative_difference(const std::vector<Piece>& a, const std::vector<Piece>& b,
                             int draws = 2000, uint64_t seed = 1);
Interval absolute_difference(const std::vector<Piece>& a, const std::vector<Piece>& b,
                             int draws = 2000, uint64_t seed = 1);

}  // namespace stoker
