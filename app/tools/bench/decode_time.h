#pragma once

#include <cstdint>

#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/metrics/spread.h"

namespace stoker {

// Microseconds in which one thread decodes a training sample that is in memory: a value for each of
// `rounds`, which follow one that does not count. samples: taken evenly from all. The calling
// thread. BadSample for a file that cannot be decoded.
Spread decode_time(const Dataset& dataset, const Decoder& decoder, int64_t samples, int64_t rounds);

}  // namespace stoker
