#include "io/decoder/resample.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double kOne = 65536;

struct Window {
  int64_t first = 0;
  int64_t count = 0;
};

// The inputs that have any weight in the output around `center`: never more than `taps`, although
// the rounding of the sums could make one more of them, with a weight of nearly nothing.
Window window_at(double center, double support, int64_t low, int64_t high, int64_t taps) {
  const auto first = std::max(low, static_cast<int64_t>(center - support + 0.5));
  const auto last = std::min(high, static_cast<int64_t>(center + support + 0.5));
  return {first, std::min(last - first, taps)};
}

// Fixed-point weights that sum to one: what rounding leaves over goes to the largest.
void quantise(const double* exact, int64_t count, double sum, uint16_t* weights) {
  const double unit = kOne / sum;
  auto left = static_cast<int64_t>(kOne);
  int64_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto weight = static_cast<int64_t>(exact[i] * unit + 0.5);
    weights[i] = static_cast<uint16_t>(std::min<int64_t>(weight, 65535));
    left -= weights[i];
    if (weights[i] > weights[largest]) largest = i;
  }
  weights[largest] = static_cast<uint16_t>(std::min<int64_t>(weights[largest] + left, 65535));
}

void portable_horizontal(const uint8_t* row, const Columns& columns, uint16_t* line) {
  const int taps = columns.filter.taps;
  const int per_tap = taps <= kFewTaps ? 8 : 0, per_sum = 8 - per_tap;
  const uint32_t start = uint32_t{columns.bias} << per_sum;
  for (int64_t x = 0; x < columns.filter.axis.size; ++x) {
    const uint8_t* in = row + 3 * columns.filter.first[static_cast<size_t>(x)];
    const uint16_t* weights = columns.filter.weights_of(x);
    uint32_t sum[3] = {start, start, start};
    for (int t = 0; t < taps; ++t, in += 3) {
      for (int c = 0; c < 3; ++c) sum[c] += uint32_t{in[c]} * weights[t] >> per_tap;
    }
    uint16_t* out = line + line_offset(x);
    for (int c = 0; c < 3; ++c) out[c] = static_cast<uint16_t>(sum[c] >> per_sum & columns.mask);
  }
}

void portable_vertical(const uint16_t* const* lines, const uint16_t* weights, int taps,
                       int64_t width, uint8_t* out) {
  const int per_tap = taps <= kFewTaps ? 16 : 0, per_sum = 16 - per_tap;
  const uint32_t start = (128u + tap_bias(taps)) << per_sum;
  for (int64_t x = 0; x < width; ++x) {
    const size_t at = line_offset(x);
    for (size_t c = 0; c < 3; ++c) {
      uint32_t sum = start;
      for (int t = 0; t < taps; ++t) sum += uint32_t{lines[t][at + c]} * weights[t] >> per_tap;
      *out++ = static_cast<uint8_t>(sum >> (per_sum + 8));
    }
  }
}

}  // namespace

bool Filter::assign(const Axis& wanted) {
  if (axis == wanted) return false;
  axis = wanted;
  const double scale = axis.length / static_cast<double>(axis.size);
  const double support = axis.method == ResizeMethod::antialias ? std::max(1.0, scale) : 1.0;
  const double slope = 1 / support;
  const auto low = std::max<int64_t>(0, static_cast<int64_t>(axis.begin));
  const auto high =
      std::min(axis.extent, static_cast<int64_t>(std::ceil(axis.begin + axis.length)));
  taps = static_cast<int>(std::min(high - low, static_cast<int64_t>(std::ceil(2 * support))));
  first.resize(static_cast<size_t>(axis.size));
  weights.assign(static_cast<size_t>(axis.size * taps), 0);
  exact_.resize(static_cast<size_t>(taps));
  for (int64_t i = 0; i < axis.size; ++i) {
    // Two taps know no input beyond the centres of the outermost pixels.
    const double center =
        std::clamp(axis.begin + (static_cast<double>(i) + 0.5) * scale,
                   static_cast<double>(low) + 0.5, static_cast<double>(high) - 0.5);
    const Window window = window_at(center, support, low, high, taps);
    double sum = 0;
    for (int64_t t = 0; t < window.count; ++t) {
      const double distance = static_cast<double>(window.first + t) + 0.5 - center;
      exact_[static_cast<size_t>(t)] = std::max(0.0, 1 - std::abs(distance) * slope);
      sum += exact_[static_cast<size_t>(t)];
    }
    const int64_t start = std::min(window.first, high - taps);
    first[static_cast<size_t>(i)] = static_cast<int32_t>(start);
    quantise(exact_.data(), window.count, sum, weights.data() + i * taps + (window.first - start));
  }
  if (axis.flip) reverse();
  return true;
}

void Filter::reverse() {
  std::reverse(first.begin(), first.end());
  for (int64_t low = 0, high = axis.size - 1; low < high; ++low, --high) {
    uint16_t* left = weights.data() + low * taps;
    std::swap_ranges(left, left + taps, weights.data() + high * taps);
  }
}

void Columns::assign(const Axis& axis) {
  if (!filter.assign(axis)) return;
  groups = (axis.size + kGroup - 1) / kGroup;
  const bool round = axis.method == ResizeMethod::antialias;
  bias = static_cast<uint16_t>(tap_bias(filter.taps) + (round ? 128 : 0));
  mask = round ? 0xff00 : 0xffff;
  pack();
}

void Columns::pack() {
  const auto count = static_cast<size_t>(groups);
  const int64_t last = filter.axis.size - 1;
  offsets.resize(count * 4);
  shuffles.resize(count * 64);
  weights.resize(count * kLineGroup * static_cast<size_t>(filter.taps));
  taps_per_load = filter.taps <= kFewTaps ? 4 : 0;
  for (size_t group = 0; group < count && taps_per_load > 0; ++group) {
    constexpr int64_t kPair[] = {0, 4, 2, 6};
    for (int lane = 0; lane < 4; ++lane) {
      const int64_t left = static_cast<int64_t>(group) * kGroup + kPair[lane];
      pack_pair(group, lane, std::min(left, last), std::min(left + 1, last));
    }
  }
}

void Columns::pack_pair(size_t group, int lane, int64_t left, int64_t right) {
  const int32_t first[] = {filter.first[static_cast<size_t>(left)],
                           filter.first[static_cast<size_t>(right)]};
  const int32_t base = std::min(first[0], first[1]);
  taps_per_load = std::clamp(5 - std::abs(first[0] - first[1]), 0, taps_per_load);
  offsets[group * 4 + static_cast<size_t>(lane)] = 3 * base;
  uint8_t* shuffle = shuffles.data() + group * 64 + static_cast<size_t>(lane) * 16;
  for (int i = 0; i < 8; ++i) {
    const int channel = i % 4;
    shuffle[2 * i] = 0x80;  // zero; the byte goes to the upper half: times 256
    shuffle[2 * i + 1] =
        channel == 3 ? 0x80 : static_cast<uint8_t>(3 * (first[i / 4] - base) + channel);
  }
  const auto taps = static_cast<size_t>(filter.taps);
  for (size_t t = 0; t < taps; ++t) {
    uint16_t* out =
        weights.data() + (group * taps + t) * kLineGroup + static_cast<size_t>(lane) * 8;
    std::fill_n(out, 4, filter.weights_of(left)[t]);
    std::fill_n(out + 4, 4, filter.weights_of(right)[t]);
  }
}

Resampling portable_resampling() { return {portable_horizontal, portable_vertical}; }

Resampling best_resampling() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return avx2_resampling();
#endif
  return portable_resampling();
}

}  // namespace stoker
