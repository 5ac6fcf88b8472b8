#pragma once

#include <cstdint>

namespace stoker {

// Takes every variant once in each round, so that what changes slowly on a machine falls on all
// alike: measure(variant, round), rounds from 0. The first `dropped` rounds come on top and have
// negative numbers: they pay for memory and files that nobody has touched before, and do not count.
// measure returns whether to go on; what it throws ends all. The calling thread.
//
// variants: a range, which measure may change through its first argument. rounds: that count.
template <class Variants, class Measure>
void interleave(Variants& variants, int64_t rounds, int64_t dropped, const Measure& measure) {
  for (int64_t round = -dropped; round < rounds; ++round) {
    for (auto& variant : variants) {
      if (!measure(variant, round)) return;
    }
  }
}

}  // namespace stoker
