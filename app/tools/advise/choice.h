#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/tools/advise/cost_model.h"
#include "app/tools/advise/object_use.h"

// Which objects to stage, and how long the run takes then. All of it is arithmetic; any thread.

namespace stoker {

// Who reads, and what a run takes in addition to reading. Seconds are for the whole run. A value.
struct RunPace {
  int64_t readers = 1;
  double decode_s = 0;    // all readers together, between their reads
  double rest_s = 0;      // the trainer, when it does not wait for batches
  bool overlaps = false;  // batches are made while the trainer works
};

// What the run's reads of each object cost on either tier, and the pace of the run. In the order of
// the uses.
struct StagingCosts {
  StagingCosts(const std::vector<ObjectUse>& uses, const TierCostModel& slow_model,
               const TierCostModel& fast_model, const RunPace& pace);
  std::vector<TierLoad> slow;
  std::vector<TierLoad> fast;
  double slow_error;
  double fast_error;
  RunPace pace;
};

// The predicted seconds of a run, and the bounds by the residuals of the cost models. A value.
struct PredictedTime {
  double seconds = 0;
  double low = 0;
  double high = 0;
};

// Places of objects in the uses, rising.
using Chosen = std::vector<size_t>;

// The prediction if those objects are on the fast tier, and all others on the slow one.
//
// Reading takes (what one reader alone would need + decode) / readers, or what the slots or the
// pipe of one of the tiers need, whichever is longest; the trainer's rest comes on top, or beside
// it where they overlap.
PredictedTime predict(const StagingCosts& costs, const Chosen& chosen);

// The rule of tf-Darshan: all objects smaller than `below` bytes, the smallest first, as far as
// they fit.
Chosen choose_below(const std::vector<ObjectUse>& uses, uint64_t below, uint64_t capacity);

// What saves the most time for the capacity: by time saved for the byte, greedily, as for a
// knapsack. What a byte saves depends on what the run waits for (one reader's time, slots, pipe),
// so each of them is tried, and smallest first as well, each as far as it makes the run shorter;
// the shortest predicted run counts. So the choice is never predicted to be worse than the rule's,
// or than nothing. Objects that save nothing are left out.
Chosen choose_most_saved(const std::vector<ObjectUse>& uses, const StagingCosts& costs,
                         uint64_t capacity);

}  // namespace stoker
