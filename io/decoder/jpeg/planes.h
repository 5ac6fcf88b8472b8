#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker {

// How the chroma components of a JPEG image lie to its luma: one sample for so many pixels.
enum class ChromaSampling { gray, s444, s422, s420 };

// One component of an image, decoded to 8-bit samples. Memory is whole MCUs, so that blocks are
// written without a look at the image's edge; only the first width x height samples count.
struct JpegPlane {
  uint8_t* data = nullptr;
  size_t stride = 0;
  int64_t width = 0;  // T.81, A.1.1: the image's size times the sampling factor, rounded up
  int64_t height = 0;
};

// What the entropy decoder and the inverse DCT leave behind, and colour conversion starts from.
struct JpegPlanes {
  ChromaSampling sampling = ChromaSampling::gray;
  int64_t width = 0;  // of the image
  int64_t height = 0;
  std::array<JpegPlane, 3> planes;  // Y, Cb, Cr; gray: Y alone
};

}  // namespace stoker
