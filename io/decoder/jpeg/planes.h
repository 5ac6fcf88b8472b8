#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker {

// How much smaller the chroma components of a JPEG image are than luma.
enum class ChromaSampling { gray, s444, s422, s420 };

// One component of an image, decoded to 8-bit samples in memory of the caller. It is whole MCUs
// large, so that blocks are written without a look at the image's edge; only the first width x
// height samples count. A value.
struct JpegPlane {
  uint8_t* data = nullptr;
  size_t stride = 0;
  int64_t width = 0;  // T.81, A.1.1: the image's size times the sampling factor, rounded up
  int64_t height = 0;
};

// What the entropy decoder and the inverse DCT leave, and colour conversion starts from. A value;
// refers to the planes' memory.
struct JpegPlanes {
  ChromaSampling sampling = ChromaSampling::gray;
  int64_t width = 0;  // of the image
  int64_t height = 0;
  std::array<JpegPlane, 3> planes;  // Y, Cb, Cr; gray: Y alone
};

}  // namespace stoker
