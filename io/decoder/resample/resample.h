#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// The arithmetic of the resizer: separable filters in fixed point.
//
// 1. Horizontal pass: a weight is a fraction of 256, and the weights of one output sum to 256
//    exactly; the sum of pixel * weight is 8.8 fixed point without any loss.
// 2. Vertical pass: a weight is a fraction of 65536. Value * weight / 65536, rounded down, summed
//    over the taps. What rounding down loses on average (half a unit per tap) is added again, then
//    the sum is rounded to 8 bits. An image that is not scaled comes out as it was.
// 3. Above kFewTaps (antialias, scale above 4: rare, as JPEGs are decoded at a smaller scale then)
//    these losses would add up: all weights are fractions of 65536, and the sums are made in 32
//    bits and rounded once.
// All variants for different processors do exactly this, so their results are equal.

namespace stoker {

// bilinear:  two taps at half-pixel centres whatever the scale, as OpenCV's INTER_LINEAR.
// antialias: a triangle that widens with the scale, rounded to 8 bits between the passes, as
//            Pillow's Image.BILINEAR (Resample.c, precompute_coeffs) and torchvision's antialias.
enum class ResizeMethod { bilinear, antialias };

// What is wanted along one axis: `size` pixels out of [begin, begin + length) of `extent` pixels,
// mirrored where `flip` says so. A value. The interval lies within the image and is not empty.
struct Axis {
  // Two taps, or as many as the scale asks for.
  ResizeMethod method = ResizeMethod::bilinear;
  int64_t extent = 0;
  // Where the crop lies. These are fractions if the image was decoded at a reduced size.
  double begin = 0;
  double length = 0;
  int64_t size = 0;
  bool flip = false;
  bool operator==(const Axis&) const = default;
};

// With at most this many taps the sums are made in 16 bits.
constexpr int kFewTaps = 8;

// Which inputs make each output along one axis, and with which weights. One thread at a time while
// it is assigned; any thread afterwards. Keeps its memory.
struct Filter {
  // The axis of the last assign().
  Axis axis;
  // The number of taps, which is the same for every output.
  int taps = 0;
  // What the weights of an output sum to.
  int32_t one = 0;
  // Per output; first + taps never passes the end of the crop.
  std::vector<int32_t> first;
  // `taps` per output, one after another.
  std::vector<uint16_t> weights;
  // The inputs that are used: [low, high).
  int64_t low = 0;
  int64_t high = 0;

  // `one_of_few`: what the weights sum to with at most kFewTaps taps; with more it is 65536. A
  // weight of 65536 is stored as 65535. False: it is the axis of the last call, and nothing had to
  // be done.
  bool assign(const Axis& wanted, int32_t one_of_few);
  // `taps` weights, for the inputs from first[output] on.
  const uint16_t* weights_of(int64_t output) const {
    return weights.data() + static_cast<size_t>(output) * static_cast<size_t>(taps);
  }

 private:
  void find_first(double scale, double support);
  void weigh(double slope);
  void weigh_two();
  void reverse();

  std::vector<double> centers_;
  // Per tap: one weight per output, before they are made to sum to one.
  std::vector<double> exact_;
  std::vector<double> units_;
};

// 64 bytes of a line or of a table. Aligned, because a load that touches two cache lines costs two.
struct alignas(64) LineGroup {
  uint16_t values[32];
};
struct alignas(64) ByteGroup {
  uint8_t bytes[64];
};

// A filter for the horizontal pass with what the vector code wants to know about it. One thread at
// a time while it is assigned; any thread afterwards. Keeps its memory, and its tables where the
// axis is that of the last image.
//
// A line is the result of a horizontal pass, in groups of 32 values of 16 bits. A pair of taps
// makes a group of it from 64 bytes of the row: a value's two bytes, times its two weights.
struct Columns {
  // Where these bytes come from, which is also how the line is laid out.
  // pairs: four values (R, G, B, 0) per pixel, eight pixels per group in the order 0 1 4 5 2 3 6 7
  //        (which packing two vectors to bytes puts right); two neighbours from a load of 16 bytes.
  // apart: the same line; each pixel from a load of 8 bytes, as they are too far apart.
  // wide:  the line is as the row, R, G, B; a group from one load of 64 bytes.
  // wider: the same from two loads.
  // sums:  the line of `pairs`; more than kFewTaps taps, no tables.
  enum class Form { pairs, apart, wide, wider, sums };
  static constexpr int kGroup = 8;
  static constexpr int kLineGroup = 32;

  Filter filter;
  Form form = Form::sums;
  // The number of groups of a line, which has groups * kLineGroup values.
  int64_t groups = 0;
  // Is added before `mask` is applied.
  uint16_t bias = 0;
  // 0xff00 rounds to 8 bits.
  uint16_t mask = 0;
  // (filter.taps + 1) / 2, or 0 without tables.
  int tap_pairs = 0;
  // Where loads begin; per group: four; apart: eight; wide: one.
  std::vector<int32_t> offsets;
  // Per group and pair of taps: where in the load a byte is.
  std::vector<ByteGroup> places;
  // Per group and pair of taps.
  std::vector<ByteGroup> weights;

  // `try_wide`: Resampling::wide of the variant that uses them.
  void assign(const Axis& axis, bool try_wide);
  bool is_wide() const { return form == Form::wide || form == Form::wider; }
  // Pixels of an output row.
  int64_t width() const { return filter.axis.size; }

 private:
  bool choose_wide_loads(int32_t bytes);
  void choose_pair_loads();
  void pack_wide();
  void pack_pairs();
  int64_t pixel_at(size_t place) const;
};

// Where a pixel of a line that is not wide starts.
constexpr size_t line_offset(int64_t pixel) {
  constexpr int kPlace[] = {0, 1, 4, 5, 2, 3, 6, 7};
  return static_cast<size_t>(pixel / 8 * 8 + kPlace[pixel % 8]) * 4;
}

// Where a result goes: to memory past the caches, because nobody reads it before they are needed
// for something else, or into the caches.
enum class Store { streamed, cached };

// Makes what was streamed visible to those that see what the calling thread does next. Any thread.
void end_streams();

// The two passes for one kind of processor. Pure functions; any thread. A table of functions, so
// that the variant is chosen once, at run time.
struct Resampling {
  // A row of the image -> a line. Reads up to PixelView::kSlack bytes behind the last pixel used.
  void (*horizontal)(const uint8_t* row, const Columns& columns, uint16_t* line);
  // `taps` lines -> a row of RGB pixels. Writes nothing behind it.
  void (*vertical)(const uint16_t* const* lines, const uint16_t* weights, int taps,
                   const Columns& columns, uint8_t* out, Store store);
  // Columns that are wide where they can be.
  bool wide = false;
};

// The variants. The first one runs everywhere and says what is right.
Resampling portable_resampling();
Resampling avx2_resampling();    // only where the processor has AVX2
Resampling avx512_resampling();  // avx512.h: its vpermb picks any 64 bytes out of 64
// Those that this processor can run, the fastest last.
std::vector<Resampling> usable_resamplings();
// The last of these: what the decoders use.
Resampling best_resampling();

// What rounding down at every tap of the vertical pass loses on average.
constexpr uint16_t tap_bias(int taps) {
  return static_cast<uint16_t>(taps <= kFewTaps ? taps / 2 : 0);
}

}  // namespace stoker
