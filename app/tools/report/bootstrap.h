#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// A figure with its 95 % confidence interval. A value.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// A piece of a run's course: a rate or share, and for how long. A value.
struct Piece {
  double value = 0;
  double length = 0;  // above 0, in any unit
};

// The level of a sample: the median of values that are independent of each other (one for each
// run), or the mean of the pieces of a course, weighted by length. No sample may be empty.
double level(const std::vector<double>& values);
double level(const std::vector<Piece>& pieces);

// How `b` differs from `a`: ratio: level(b) / level(a) - 1, for levels above 0; rest: level(b) -
// level(a), for shares, which may be 0.
enum class Differing { ratio, rest };

// The difference with its interval, by the percentile bootstrap (Efron 1979): both samples are
// drawn anew with replacement `draws` times. Pieces are drawn in blocks of neighbours, as long as
// the cube root of their number, because neighbours resemble each other (circular block bootstrap,
// Politis and Romano 1992). A pure function of its arguments; any thread.
//
// The interval does not cover anything that differs from run to run and not within one (where the
// process was placed, what the cache held). For that give runs, not pieces of them.
Interval difference(const std::vector<double>& a, const std::vector<double>& b, Differing how,
                    int draws = 2000, uint64_t seed = 1);
Interval difference(const std::vector<Piece>& a, const std::vector<Piece>& b, Differing how,
                    int draws = 2000, uint64_t seed = 1);

}  // namespace stoker
