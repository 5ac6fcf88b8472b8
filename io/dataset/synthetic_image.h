#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/config/config.h"

namespace stoker {

// What generated images look like. A value. The encoded size is either that of width x height
// pixels, or log-normal: median_bytes * exp(sigma * N(0,1)) within 5 %, limited to 1/16 and 16
// times the median; width and height then give the shape only.
struct SyntheticImageOptions {
  // Pixels; with median_bytes of the shape only.
  int64_t width = 256;
  int64_t height = 256;
  // libjpeg's, 1 to 100.
  int64_t quality = 90;
  // Absent: the size is that of width x height pixels.
  std::optional<ByteSize> median_bytes;
  // The standard deviation of the logarithm of the encoded size.
  double sigma = 0.5;
  template <class V>
  void visit(V& v) {
    v("width", width,
      "Width of an image in pixels. With `median_bytes` only width / height counts.",
      Limits{16, 8192});
    v("height", height,
      "Height of an image in pixels. With `median_bytes` only width / height counts.",
      Limits{16, 8192});
    v("quality", quality, "JPEG quality, from 1 (smallest file) to 100 (best).", Limits{1, 100});
    v("median_bytes", median_bytes,
      "Draw the encoded sizes from a log-normal distribution with this median. Without it all "
      "images have the given width and height.");
    v("sigma", sigma,
      "With `median_bytes`: the standard deviation of the logarithm of the encoded size. 0 makes "
      "all sizes equal.",
      Limits{0, 2});
  }
  // Error(ExitCode::config) for a median outside of 4 KiB to 16 MiB.
  void check(const Section& section) const;
};

// One baseline JPEG (4:2:0). Hue and direction of its stripes tell its class, so that a model can
// learn it; phase, contrast and noise are the image's own. A pure function of its arguments (and of
// the libjpeg-turbo release). Takes milliseconds: it is drawn and encoded, with a median some times
// over. Any thread. `label` is in [0, classes).
std::vector<uint8_t> synthetic_jpeg(const SyntheticImageOptions& options, int64_t classes,
                                    int64_t label, uint64_t seed);

// The encoded size of the image of a seed where median_bytes says what it is in the middle. A pure
// function.
double synthetic_size(const SyntheticImageOptions& options, uint64_t seed);

// The name of a generated data set's class: "class_007".
std::string synthetic_class_name(int64_t label);

}  // namespace stoker
