#pragma once

#include <cstdint>

#include "io/decoder/resample/resample.h"

namespace stoker {

// The upper half of a float, rounded to nearest even: bfloat16.
struct Bf16 {
  uint16_t bits = 0;
};

// `pixels` interleaved RGB pixels -> normalised values (pixels.h) in one pass: value c of pixel
// i becomes out[i + c * plane], or out[3 * i + c] where `plane` is kInterleaved. The same values on
// every processor. Floats in planes are streamed where `store` says so and all planes are aligned
// to 32 bytes; end_streams() then makes them visible. Pure functions; any thread. The caller owns
// `out`, which must not overlap `rgb`.
inline constexpr int64_t kInterleaved = 0;
template <class T>  // float or Bf16
void normalise_pixels(const uint8_t* rgb, int64_t pixels, int64_t plane, T* out, Store store);

}  // namespace stoker
