#pragma once

#include <cstdint>

// The numbers of Loeffler, Ligtenberg and Moschytz's transform as IJG has them (jidctint.c).

namespace stoker {

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
}  // namespace stoker
