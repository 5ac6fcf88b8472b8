#include "app/bench/pixel_values.h"

#include "io/decoder/normalise.h"

namespace stoker {

double normalised_value(double level, size_t channel) {
  return (level - kMean[channel]) * kScale[channel];
}

double grey_level(double normalised, size_t channel) {
  return normalised / kScale[channel] + kMean[channel];
}

}  // namespace stoker
