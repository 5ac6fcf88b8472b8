#pragma once

#include <cstdint>

namespace stoker {

// From the order in which a scan stores the coefficients of a block (zigzag) to the natural one,
// which the inverse DCT takes. Blocks are 64 values, aligned to 32 bytes. Pure functions, for
// processors with AVX2.

// Which values of a block in the scan's order may be other than zero: only the first, only the
// first ten (those of row + column < 4), or any.
enum class BlockExtent { first, first_ten, all };
BlockExtent block_extent(const int16_t* scan);

// Writes a block from one in the scan's order.
void reorder_block(const int16_t* scan, int16_t* natural);
// The same where only the first ten values of the scan are not zero.
void reorder_first_ten(const int16_t* scan, int16_t* natural);

}  // namespace stoker
