#pragma once

#include <cstdint>

namespace stoker {

// How a model wants its values: one plane per channel, or the channels of a pixel side by side.
enum class ValueOrder { planes, interleaved };

// The upper half of a float, rounded to nearest even: bfloat16.
struct Bf16 {
  uint16_t bits = 0;
};

// `pixels` interleaved RGB pixels -> 3 * pixels normalised values (io/decoder/normalise.h) in one
// pass. A pure function; any thread; the same values on every processor. The caller owns `out`,
// which must not overlap `rgb`.
void normalise_pixels(const uint8_t* rgb, int64_t pixels, ValueOrder order, float* out);
void normalise_pixels(const uint8_t* rgb, int64_t pixels, ValueOrder order, Bf16* out);

// The same for tests: without vector code.
void portable_normalise(const uint8_t* rgb, int64_t pixels, ValueOrder order, float* out);
void portable_normalise(const uint8_t* rgb, int64_t pixels, ValueOrder order, Bf16* out);

}  // namespace stoker
