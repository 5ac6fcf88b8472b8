#include <algorithm>
#include <cstring>

#include "io/decoder/pixels.h"
#include "io/decoder/resample/resample.h"

namespace stoker {
namespace {

constexpr uint64_t kEvenBytes = 0x000100010001, kOddBytes = kEvenBytes << 8;

// Two weights that are bytes, and where their taps are. A weight of 256 does not fit into a byte:
// the other tap then takes the same pixel, and 1 of the 256.
struct TapPair {
  int32_t weight[2] = {0, 0};
  int32_t tap[2] = {0, 1};

  TapPair(const uint16_t* weights, int taps, int pair) {
    for (int i = 0; i < 2; ++i) {
      if (2 * pair + i < taps) weight[i] = weights[2 * pair + i];
    }
    for (int i = 0; i < 2; ++i) {
      if (weight[i] < 256) continue;
      weight[i] = 255;
      weight[1 - i] = 1;
      tap[1 - i] = tap[i];
    }
  }
};

}  // namespace

void Columns::assign(const Axis& axis, bool try_wide) {
  if (!filter.assign(axis, 256)) return;
  const bool round = axis.method == ResizeMethod::antialias;
  bias = round ? 128 : 0;
  mask = round ? 0xff00 : 0xffff;
  form = Form::sums;
  groups = (width() + kGroup - 1) / kGroup;
  if (filter.taps > kFewTaps) return;
  tap_pairs = (filter.taps + 1) / 2;
  if (try_wide && choose_wide_loads(64)) {
    form = Form::wide;
  } else if (try_wide && choose_wide_loads(128)) {
    form = Form::wider;
  } else {
    choose_pair_loads();
  }
  const auto tables = static_cast<size_t>(groups * tap_pairs);
  places.resize(tables);
  weights.resize(tables);
  is_wide() ? pack_wide() : pack_pairs();
}

bool Columns::choose_wide_loads(int32_t bytes) {
  // No load reaches out of the crop and its slack: there may be no memory.
  const int64_t last_load = 3 * filter.high + static_cast<int64_t>(PixelView::kSlack) - bytes;
  if (last_load < 3 * filter.low) return false;
  const int64_t wanted = (3 * width() + kLineGroup - 1) / kLineGroup;
  offsets.resize(static_cast<size_t>(wanted));
  for (int64_t group = 0; group < wanted; ++group) {
    const int64_t left = group * kLineGroup / 3;
    const int64_t right = std::min((group * kLineGroup + kLineGroup - 1) / 3, width() - 1);
    const auto [low, high] = std::minmax(filter.first[static_cast<size_t>(left)],
                                         filter.first[static_cast<size_t>(right)]);
    const int64_t offset = std::min<int64_t>(3 * low, last_load);
    if (3 * (high + filter.taps) - offset > bytes) return false;
    offsets[static_cast<size_t>(group)] = static_cast<int32_t>(offset);
  }
  groups = wanted;
  return true;
}

void Columns::pack_wide() {
  const auto pairs = static_cast<size_t>(tap_pairs);
  for (int64_t x = 0; x < width(); ++x) {
    const int32_t first = 3 * filter.first[static_cast<size_t>(x)];
    for (int pair = 0; pair < tap_pairs; ++pair) {
      const TapPair taps(filter.weights_of(x), filter.taps, pair);
      const int32_t start = first + 6 * pair;
      const int32_t places_of_red = (start + 3 * taps.tap[0]) + 256 * (start + 3 * taps.tap[1]);
      const auto weight = static_cast<uint16_t>(taps.weight[0] + 256 * taps.weight[1]);
      for (int32_t c = 0; c < 3; ++c) {
        const auto value = static_cast<size_t>(3 * x + c);
        const size_t group = value / kLineGroup, at = value % kLineGroup * sizeof weight;
        const auto place = static_cast<uint16_t>(places_of_red + 257 * (c - offsets[group]));
        std::memcpy(&places[group * pairs + static_cast<size_t>(pair)].bytes[at], &place,
                    sizeof place);
        std::memcpy(&weights[group * pairs + static_cast<size_t>(pair)].bytes[at], &weight,
                    sizeof weight);
      }
    }
  }
}

// The pixel at a place of the line (four values each), or the last pixel behind the end.
int64_t Columns::pixel_at(size_t place) const {
  constexpr size_t kPixel[] = {0, 1, 4, 5, 2, 3, 6, 7};
  const auto pixel = static_cast<int64_t>(place / kGroup * kGroup + kPixel[place % kGroup]);
  return std::min(pixel, width() - 1);
}

void Columns::choose_pair_loads() {
  form = Form::pairs;
  offsets.resize(static_cast<size_t>(groups) * kGroup / 2);
  for (size_t i = 0; i < offsets.size() && form == Form::pairs; ++i) {
    const auto [low, high] = std::minmax(filter.first[static_cast<size_t>(pixel_at(2 * i))],
                                         filter.first[static_cast<size_t>(pixel_at(2 * i + 1))]);
    offsets[i] = 3 * low;
    if (high - low > 3) form = Form::apart;  // a load has five pixels, and two are for the taps
  }
  if (form == Form::pairs) return;
  offsets.resize(static_cast<size_t>(groups) * kGroup);
  for (size_t place = 0; place < offsets.size(); ++place) {
    offsets[place] = 3 * filter.first[static_cast<size_t>(pixel_at(place))];
  }
}

void Columns::pack_pairs() {
  for (size_t place = 0; place < static_cast<size_t>(groups) * kGroup; ++place) {
    const int64_t x = pixel_at(place);
    const int32_t first = 3 * filter.first[static_cast<size_t>(x)];
    // In a load of two pixels' own bytes, the second one's are the upper eight.
    const int32_t start =
        form == Form::pairs ? first - offsets[place / 2] : static_cast<int32_t>(place % 2) * 8;
    for (int pair = 0; pair < tap_pairs; ++pair) {
      const TapPair taps(filter.weights_of(x), filter.taps, pair);
      const auto byte = [](int32_t value) { return static_cast<uint64_t>(value); };
      // Two bytes for each channel, and two that are zero (0x80).
      const uint64_t bytes = 0x8080020201010000 + kEvenBytes * byte(start + 3 * taps.tap[0]) +
                             kOddBytes * byte(start + 3 * taps.tap[1]);
      const uint64_t weight =
          (kEvenBytes | kEvenBytes << 48) * byte(taps.weight[0] + 256 * taps.weight[1]);
      const size_t table =
          place / kGroup * static_cast<size_t>(tap_pairs) + static_cast<size_t>(pair);
      std::memcpy(&places[table].bytes[place % kGroup * 8], &bytes, sizeof bytes);
      std::memcpy(&weights[table].bytes[place % kGroup * 8], &weight, sizeof weight);
    }
  }
}

}  // namespace stoker
