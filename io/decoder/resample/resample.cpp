#include "io/decoder/resample/resample.h"

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include "io/decoder/avx512.h"
#endif

namespace stoker {
namespace {

void portable_horizontal(const uint8_t* row, const Columns& columns, uint16_t* line) {
  const int taps = columns.filter.taps;
  const int surplus = columns.filter.one == 65536 ? 8 : 0;
  const uint32_t start = uint32_t{columns.bias} << surplus;
  for (int64_t x = 0; x < columns.width(); ++x) {
    const uint8_t* in = row + 3 * columns.filter.first[static_cast<size_t>(x)];
    const uint16_t* weights = columns.filter.weights_of(x);
    uint32_t sum[3] = {start, start, start};
    for (int t = 0; t < taps; ++t, in += 3) {
      for (int c = 0; c < 3; ++c) sum[c] += uint32_t{in[c]} * weights[t];
    }
    uint16_t* out = line + line_offset(x);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<uint16_t>(sum[c] >> surplus & columns.mask);
  }
}

void portable_vertical(const uint16_t* const* lines, const uint16_t* weights, int taps,
                       const Columns& columns, uint8_t* out, Store) {
  const int per_tap = taps <= kFewTaps ? 16 : 0, per_sum = 16 - per_tap;
  const uint32_t start = (128u + tap_bias(taps)) << per_sum;
  for (int64_t x = 0; x < columns.width(); ++x) {
    const size_t at = columns.is_wide() ? 3 * static_cast<size_t>(x) : line_offset(x);
    for (size_t c = 0; c < 3; ++c) {
      uint32_t sum = start;
      for (int t = 0; t < taps; ++t) sum += uint32_t{lines[t][at + c]} * weights[t] >> per_tap;
      *out++ = static_cast<uint8_t>(sum >> (per_sum + 8));
    }
  }
}

}  // namespace

bool Filter::assign(const Axis& wanted, int32_t one_of_few) {
  if (axis == wanted) return false;
  axis = wanted;
  const double scale = axis.length / static_cast<double>(axis.size);
  const double support = axis.method == ResizeMethod::antialias ? std::max(1.0, scale) : 1.0;
  low = std::max<int64_t>(0, static_cast<int64_t>(axis.begin));
  high = std::min(axis.extent, static_cast<int64_t>(std::ceil(axis.begin + axis.length)));
  taps = static_cast<int>(std::min(high - low, static_cast<int64_t>(std::ceil(2 * support))));
  one = taps <= kFewTaps ? one_of_few : 65536;
  find_first(scale, support);
  weigh(1 / support);
  if (axis.flip) reverse();
  return true;
}

// The loops below run over the outputs, so that the compiler makes vector code of them: for random
// crops every image has filters of its own.
void Filter::find_first(double scale, double support) {
  const auto size = static_cast<size_t>(axis.size);
  first.resize(size);
  centers_.resize(size);
  // Two taps know no input beyond the centres of the outermost pixels.
  const double leftmost = static_cast<double>(low) + 0.5;
  const double rightmost = static_cast<double>(high) - 0.5;
  const auto start = static_cast<int32_t>(low), last = static_cast<int32_t>(high - taps);
  const double begin = axis.begin;
  for (size_t i = 0; i < size; ++i) {
    const double exact = begin + (static_cast<double>(static_cast<int32_t>(i)) + 0.5) * scale;
    const double center = std::min(std::max(exact, leftmost), rightmost);
    centers_[i] = center - 0.5;
    first[i] = std::min(std::max(static_cast<int32_t>(center - support + 0.5), start), last);
  }
}

// Fixed-point weights that sum to one: what rounding leaves over goes to the largest.
void Filter::weigh(double slope) {
  const auto size = static_cast<size_t>(axis.size), count = static_cast<size_t>(taps);
  exact_.resize(size * count);
  units_.assign(size, 0);
  for (size_t t = 0; t < count; ++t) {
    double* exact = exact_.data() + t * size;
    for (size_t i = 0; i < size; ++i) {
      const double distance = static_cast<double>(first[i] + static_cast<int32_t>(t)) - centers_[i];
      exact[i] = std::max(0.0, 1 - std::abs(distance) * slope);
      units_[i] += exact[i];
    }
  }
  for (size_t i = 0; i < size; ++i) units_[i] = one / units_[i];
  weights.resize(size * count);
  if (count == 2) return weigh_two();
  for (size_t i = 0; i < size; ++i) {
    uint16_t* weight = weights.data() + i * count;
    int32_t left = one, largest_weight = -1;
    size_t largest = 0;
    for (size_t t = 0; t < count; ++t) {
      const auto rounded = static_cast<int32_t>(exact_[t * size + i] * units_[i] + 0.5);
      weight[t] = static_cast<uint16_t>(std::min(rounded, 65535));
      left -= weight[t];
      if (rounded > largest_weight) largest = t, largest_weight = rounded;
    }
    weight[largest] = static_cast<uint16_t>(std::min(weight[largest] + left, 65535));
  }
}

void Filter::weigh_two() {
  const size_t size = first.size();
  for (size_t i = 0; i < size; ++i) {
    const auto second = static_cast<int32_t>(exact_[size + i] * units_[i] + 0.5);
    weights[2 * i] = static_cast<uint16_t>(std::min(one - second, 65535));
    weights[2 * i + 1] = static_cast<uint16_t>(std::min(second, 65535));
  }
}

void Filter::reverse() {
  std::reverse(first.begin(), first.end());
  for (int64_t i = 0, j = axis.size - 1; i < j; ++i, --j) {
    uint16_t* left = weights.data() + i * taps;
    std::swap_ranges(left, left + taps, weights.data() + j * taps);
  }
}

void end_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

Resampling portable_resampling() { return {portable_horizontal, portable_vertical}; }

std::vector<Resampling> usable_resamplings() {
  std::vector<Resampling> usable{portable_resampling()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) usable.push_back(avx2_resampling());
  if (has_avx512()) usable.push_back(avx512_resampling());
#endif
  return usable;
}

Resampling best_resampling() { return usable_resamplings().back(); }

}  // namespace stoker
