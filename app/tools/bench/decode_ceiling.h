#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/dataset/dataset.h"

namespace stoker {

// How fast libjpeg-turbo alone is with the JPEG files of a data set on this machine: what a loader
// can be measured against. Images/s of all threads together, an element per round.
//   header       reading the header
//   entropy      entropy decoding into coefficients, which no decoder of these files can leave out,
//                by a transform that changes and writes nothing (3 % more than
//                jpeg_read_coefficients)
//   decode       to RGB at full size: accurate inverse DCT, fancy upsampling; files in memory
//   read_decode  the same, each file read by Dataset::read before
// Handles and memory are reused; nothing is resized, batched or handed on.
struct DecodeCeiling {
  int64_t threads = 0;
  int64_t samples = 0;
  // Files of the sample that are no JPEG, or that libjpeg-turbo does not decode.
  int64_t left_out = 0;
  double bytes_per_image = 0;   // mean over the sample
  double pixels_per_image = 0;  // mean over the sample
  std::vector<double> header;
  std::vector<double> entropy;
  std::vector<double> decode;
  std::vector<double> read_decode;
};

inline constexpr uint64_t kCeilingBytes = 256u << 20;

struct CeilingOptions {
  // Number of files, taken evenly from the training samples. 0: all of them, or as many as
  // kCeilingBytes hold: a few large files decide the mean, and a small sample misses them.
  int64_t samples = 0;
  int64_t threads = 1;
  int64_t rounds = 3;  // each has all four kinds, one after another
};

// Absent where fewer than nine tenths of the sample are JPEG files that libjpeg-turbo decodes.
// Starts and joins threads of its own. Throws IoError.
std::optional<DecodeCeiling> measure_decode_ceiling(const Dataset& dataset,
                                                    const CeilingOptions& options);

}  // namespace stoker
