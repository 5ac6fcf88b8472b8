#pragma once

#include <cstdint>
#include <vector>

#include "io/core/config/config.h"

namespace stoker {

// What generated planes of numbers look like. A value.
struct SyntheticPlanesOptions {
  int64_t channels = 3;
  int64_t height = 224;
  int64_t width = 224;
  // A class for each pixel, too.
  bool target = false;
  template <class V>
  void visit(V& v) {
    v("channels", channels, "Number of planes of a sample.", Limits{1, 1024});
    v("height", height, "Number of rows of a plane.", Limits{1, 65535});
    v("width", width, "Number of columns of a plane.", Limits{1, 65535});
    v("target", target, "Whether one more plane follows, with the class of each pixel.");
  }
};

// One sample as the decoder `planes` takes it: float32 planes in C order of noise from 0 to 1, to
// which a class adds a half in a channel of its own, so that a model can learn it. The channel of
// its label is raised everywhere; with `target` the channel of each class but 0 is raised in one
// rectangle, and the plane of classes follows. A pure function of its arguments, the same on every
// machine; any thread. `label` is in [0, classes).
std::vector<uint8_t> synthetic_planes(const SyntheticPlanesOptions& options, int64_t classes,
                                      int64_t label, uint64_t seed);

}  // namespace stoker
