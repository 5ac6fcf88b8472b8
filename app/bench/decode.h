#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/experiment/experiment.h"

namespace stoker {

// One decoder's rounds in `stoker bench decode`.
struct DecodeBenchmark {
  std::string decoder;
  std::vector<double> us_per_image;  // one per round
};

// Decodes the same `samples` training samples (all where 0), read into memory beforehand, on one
// thread, with the experiment's decoder and with each of `others` (types that take the same
// options). Rounds are interleaved: every decoder once, `rounds` times.
std::vector<DecodeBenchmark> bench_decode(const Experiment& experiment,
                                          const std::vector<std::string>& others, int64_t samples,
                                          int64_t rounds);

}  // namespace stoker
