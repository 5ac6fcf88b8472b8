#pragma once

#include <cstddef>

namespace stoker {

// Levels of 0 to 255 and values normalised by ImageNet's mean and deviation, as torchvision's
// networks take them. Channels: R, G, B. For figures, not for the hot path.
double normalised_value(double level, size_t channel);
double grey_level(double normalised, size_t channel);

}  // namespace stoker
