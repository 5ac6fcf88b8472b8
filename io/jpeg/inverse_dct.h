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

// The numbers of Loeffler, Ligtenberg and Moschytz's transform as IJG has them (jidctint.c).
namespace accurate_dct {

// Constants of 13 fractional bits.
enum Fixed : int16_t {
  k0_298 = 2446,
  k0_390 = 3196,
  k0_541 = 4433,
  k0_765 = 6270,
  k0_899 = 7373,
  k1_000 = 8192,
  k1_175 = 9633,
  k1_501 = 12299,
  k1_847 = 15137,
  k1_961 = 16069,
  k2_053 = 16819,
  k2_562 = 20995,
  k3_072 = 25172,
};

// Half of a unit of each pass: the first one leaves two fractional bits; the second one leaves
// none, and takes away the three of the sums.
constexpr int kColumnShift = 11, kRowShift = 18;
constexpr int kColumnHalf = 1 << 10, kRowHalf = 1 << 17;

// What is left of the odd part where in5 and in7 are zero, as (in1, in3).
constexpr int kOdd[4][2] = {{k1_501 - k0_899 + k1_175 - k0_390, k1_175},
                            {k1_175, k3_072 - k2_562 + k1_175 - k1_961},
                            {k1_175 - k0_390, k1_175 - k2_562},
                            {k1_175 - k0_899, k1_175 - k1_961}};
// And of the even part where in4 and in6 are zero, as (in0, in2).
constexpr int kEven[4][2] = {
    {k1_000, k0_541 + k0_765}, {k1_000, k0_541}, {k1_000, -k0_541}, {k1_000, -k0_541 - k0_765}};

}  // namespace accurate_dct

}  // namespace stoker
