#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// Dequantises one block and transforms it to an image of 1/2, 1/4 or 1/8 of its size: `side` rows
// of `side` bytes, `stride` apart; side 4, 2 or 1. Coefficients and quantisation: as InverseDct.
// The samples are those of libjpeg-turbo's reduced transforms, byte for byte. False: a value is so
// large that their vector code might overflow, which is not imitated; `out` is unspecified then.
// Pure function; needs AVX2.
bool reduced_inverse_dct(const int16_t* coefficients, const int16_t* quantisation, size_t side,
                         uint8_t* out, size_t stride);

}  // namespace stoker
