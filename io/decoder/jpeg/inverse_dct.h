#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// Dequantises one block and transforms it back to samples: 8 rows of 8 bytes, `stride` apart.
// Coefficients and quantisation: 64 each, in natural order (not zigzag), aligned to 32 bytes.
using InverseDct = void (*)(const int16_t* coefficients, const int16_t* quantisation, uint8_t* out,
                            size_t stride);

// The accurate integer transform of libjpeg-turbo's vector code (JDCT_ISLOW), byte for byte, for
// whatever coefficients: products wrap at 16 bits, sums saturate where it lets them. Pure
// functions.
struct InverseDcts {
  // For every block.
  InverseDct full;
  // For blocks whose nonzero coefficients all lie in the first four rows and columns.
  InverseDct top_left_4x4;
  // For blocks of which only the first coefficient is not zero.
  // The samples are all the same.
  void (*dc_only)(int dc_times_quantisation, uint8_t* out, size_t stride);
};

// The functions for processors with AVX2, the only ones that may call them.
InverseDcts avx2_inverse_dct();

}  // namespace stoker
