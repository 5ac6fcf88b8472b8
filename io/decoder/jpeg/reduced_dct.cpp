#include "io/decoder/jpeg/reduced_dct.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cstdlib>

#include "io/decoder/jpeg/bit_reader.h"

// IJG's transforms that leave out what a smaller image does not show (jidctred.c): four points out
// of eight coefficients but the fifth, two out of the first and the odd ones. Columns come first,
// with two more bits than the result; every column is rounded on its own.

namespace stoker {
namespace {

constexpr int kFractionBits = 13, kColumnBits = 2;
// Sums of columns stay below 16 bits: 2 * 9.2 and 10.5 times this.
constexpr int kMaxDequantised = 1780;

constexpr int32_t fixed(double value) {
  return static_cast<int32_t>(value * (1 << kFractionBits) + 0.5);
}

constexpr int32_t rounded_shift(int32_t value, int bits) {
  return (value + (1 << (bits - 1))) >> bits;
}

uint8_t sample(int32_t centred) {
  return static_cast<uint8_t>(std::clamp(centred, -128, 127) + 128);
}

// make(): values from the coefficients in[i * step], rounded to `shift` bits fewer.
struct FourPoints {
  static constexpr size_t kCount = 4;
  static constexpr int kMoreBits = 1;
  STOKER_AVX2_INLINE static void make(const int32_t* in, size_t step, int shift, int32_t* out) {
    const auto at = [&](size_t i) { return in[i * step]; };
    const int32_t first = at(0) * (1 << (kFractionBits + kMoreBits));
    const int32_t even = at(2) * fixed(1.847759065) - at(6) * fixed(0.765366865);
    const int32_t inner = -at(7) * fixed(0.211164243) + at(5) * fixed(1.451774981) -
                          at(3) * fixed(2.172734803) + at(1) * fixed(1.061594337);
    const int32_t outer = -at(7) * fixed(0.509795579) - at(5) * fixed(0.601344887) +
                          at(3) * fixed(0.899976223) + at(1) * fixed(2.562915447);
    out[0] = rounded_shift(first + even + outer, shift);
    out[1] = rounded_shift(first - even + inner, shift);
    out[2] = rounded_shift(first - even - inner, shift);
    out[3] = rounded_shift(first + even - outer, shift);
  }
};

struct TwoPoints {
  static constexpr size_t kCount = 2;
  static constexpr int kMoreBits = 2;
  STOKER_AVX2_INLINE static void make(const int32_t* in, size_t step, int shift, int32_t* out) {
    const auto at = [&](size_t i) { return in[i * step]; };
    const int32_t first = at(0) * (1 << (kFractionBits + kMoreBits));
    const int32_t odd = -at(7) * fixed(0.720959822) + at(5) * fixed(0.850430095) -
                        at(3) * fixed(1.272758580) + at(1) * fixed(3.624509785);
    out[0] = rounded_shift(first + odd, shift);
    out[1] = rounded_shift(first - odd, shift);
  }
};

template <class Points>
STOKER_AVX2_INLINE void columns_then_rows(const int32_t* values, uint8_t* out, size_t stride) {
  constexpr size_t kCount = Points::kCount;
  int32_t columns[kCount][8];
  for (size_t x = 0; x < 8; ++x) {
    int32_t column[kCount];
    Points::make(values + x, 8, kFractionBits - kColumnBits + Points::kMoreBits, column);
    for (size_t y = 0; y < kCount; ++y) columns[y][x] = column[y];
  }
  for (size_t y = 0; y < kCount; ++y, out += stride) {
    int32_t row[kCount];
    Points::make(columns[y], 1, kFractionBits + kColumnBits + 3 + Points::kMoreBits, row);
    for (size_t x = 0; x < kCount; ++x) out[x] = sample(row[x]);
  }
}

}  // namespace

STOKER_AVX2 bool reduced_inverse_dct(const int16_t* coefficients, const int16_t* quantisation,
                                     size_t side, uint8_t* out, size_t stride) {
  alignas(32) int32_t values[64];
  int32_t largest = 0;
  for (size_t i = 0; i < 64; ++i) {
    values[i] = coefficients[i] * quantisation[i];
    largest = std::max(largest, std::abs(values[i]));
  }
  if (largest > kMaxDequantised) return false;
  if (side == 4) {
    columns_then_rows<FourPoints>(values, out, stride);
  } else if (side == 2) {
    columns_then_rows<TwoPoints>(values, out, stride);
  } else {
    out[0] = sample(rounded_shift(values[0], 3));
  }
  return true;
}

}  // namespace stoker

#endif
