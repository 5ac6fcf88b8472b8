#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker {

// A block's coefficients, and where its samples go. A value, which begins with nothing known, for
// arrays of it are made for a few blocks at a time; refers to memory of the caller.
struct DctBlock {
  // 64 in the scan's order (zigzag), aligned to 64 bytes.
  const int16_t* values;
  // Likewise.
  const int16_t* quantisation;
  uint8_t* out;
  size_t stride;  // from a row of samples to the next
  // Samples across and down: 8, or 4, 2 or 1 for an image of 1/2, 1/4 or 1/8 of the size.
  size_t side;
};

// Dequantises `count` blocks and transforms them back to 8 x 8 samples each.
using InverseDct = void (*)(const DctBlock* blocks, size_t count);

// The accurate integer transform of libjpeg-turbo's vector code (JDCT_ISLOW), byte for byte, for
// whatever coefficients: products wrap at 16 bits, sums saturate where it lets them. Pure
// functions.
struct InverseDcts {
  // For every block.
  InverseDct all;
  // For blocks in which only the first ten values of the scan, those of row + column < 4, may be
  // other than 0.
  InverseDct first_ten;
  // For blocks in which only the first value may be other than 0. All their samples are equal.
  InverseDct first;
};

// The variants, with equal results.
InverseDcts avx2_inverse_dcts();
InverseDcts avx512_inverse_dcts();  // avx512.h: two blocks at once
// Those that this processor can run, the fastest last; it has AVX2.
std::vector<InverseDcts> usable_inverse_dcts();
// The last of these: what the decoders use.
InverseDcts best_inverse_dcts();

// One block at a reduced size. The samples are those of libjpeg-turbo's reduced transforms, byte
// for byte. False: a value is so large that their vector code might overflow, which is not
// imitated; the samples are unspecified then. Pure function; needs AVX2.
bool reduced_inverse_dct(const DctBlock& block);

// Blocks of any kind and side, each by the quickest transform that will do. False: as above, of any
// of them. Pure function; needs AVX2.
bool to_samples(const InverseDcts& transforms, std::span<const DctBlock> blocks);

}  // namespace stoker
