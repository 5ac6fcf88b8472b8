#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/report/bootstrap.h"

// The search of `stoker tune`: from what was predicted of many settings, by short runs of few of
// them, to the one that is best. It knows nothing of runs: what measures is handed in. One thread.

namespace stoker {

// Settings that may be tried. A value.
struct TuneCandidate {
  // How the data come: a number that means something to whoever made the candidate.
  size_t way = 0;
  std::string loader;
  int64_t workers = 0;   // 0: the trainer's own thread loads
  int64_t prefetch = 0;  // batches; 0: the loader makes none ahead
  // Samples stay on the device from the second epoch on.
  bool stays = false;
  // Images/s that the simulator expects. 0: it cannot tell.
  double predicted = 0;
  // Bytes that it holds of batches and of what it keeps.
  uint64_t memory = 0;
  // False: a short run cannot show what it is worth.
  bool measurable = true;

  bool same(const TuneCandidate& other) const {
    return way == other.way && loader == other.loader && workers == other.workers &&
           prefetch == other.prefetch;
  }
  // Fewer bytes, then fewer threads.
  bool cheaper(const TuneCandidate& other) const {
    return memory != other.memory ? memory < other.memory : workers < other.workers;
  }
};

// What short runs showed of a candidate. A value.
struct TuneMeasured {
  std::vector<Piece> pieces;  // images/s in pieces of the course, all runs one after the other
  // Images/s that the device can take; 0: not known.
  double limit = 0;
};

// Measures a candidate for about so many seconds. Empty: the time for the whole search is over.
// Error: the candidate cannot run here. No pieces: it was too short to say.
using TuneMeasure =
    std::function<std::optional<TuneMeasured>(const TuneCandidate& candidate, double seconds)>;

// A candidate that was tried. A value.
struct TuneTrial {
  size_t candidate = 0;
  TuneMeasured measured;
  Interval rate;       // of the pieces; all 0 where there are none
  std::string failed;  // why it has no rate
};

struct TuneSearchOptions {
  // Whose rate everything is compared with: the settings as they were.
  size_t first = 0;
  // The least memory with 99 % of the best rate, not the best rate.
  bool least_memory = false;
  // Length of the first short runs; those that decide are twice as long.
  double seconds = 2;
};

// What was tried, in the order of the first runs, and the number of the best among them. A value.
struct TuneFound {
  std::vector<TuneTrial> trials;
  size_t chosen = 0;
};

// 1. The settings as they were, and up to seven of the best predicted: the cheapest among equals,
//    and its neighbours with more workers and batches.
// 2. The better half once more (successive halving, Jamieson and Talwalkar 2016).
// 3. From the best to its neighbours, as long as the device could take more and they are better.
// 4. From there to cheaper ones that are predicted to be as good.
// Rates within half a percent are equal, and the cheapest of them is chosen. Error where nothing
// could be measured, with the reason of the first candidate.
TuneFound search_settings(const std::vector<TuneCandidate>& candidates,
                          const TuneSearchOptions& options, const TuneMeasure& measure);

}  // namespace stoker
