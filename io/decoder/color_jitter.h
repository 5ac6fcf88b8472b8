#pragma once

#include <cstdint>

#include "io/decoder/augment.h"

namespace stoker {

// Changes the colours of `height` rows of `width` RGB pixels in place, as torchvision's ColorJitter
// does on Pillow images (blends of PIL.ImageEnhance; hue in 8-bit HSV). A pure function of the
// pixels and the jitter, on every CPU. All four steps cost about as much as decoding. Any thread.
void apply_jitter(const Jitter& jitter, int64_t width, int64_t height, uint8_t* pixels);

}  // namespace stoker
