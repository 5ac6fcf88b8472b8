#pragma once

#include <cstdint>
#include <span>

namespace stoker {

// Images like those of the high-energy-physics benchmark HEPCNNB: what a calorimeter saw of one
// collision, three planes of size x size (electromagnetic energy, hadronic energy, tracks), mostly
// zeros. Jets are spots; a signal has more and harder ones than the background, with an overlap,
// so that a classifier that learns comes to an AUC well above 0.5 and below 1.

// The label of event `index` of a file: 1 is a signal. Pure; any thread.
int64_t hep_label(uint64_t seed, int64_t index);
// Fills [3, size, size]. A pure function of its arguments, the same on every machine; any thread.
void fill_hep_event(std::span<float> planes, int64_t size, int64_t label, uint64_t seed);

}  // namespace stoker
