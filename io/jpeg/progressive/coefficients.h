#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/core/system/memory.h"
#include "io/jpeg/inverse_dct.h"
#include "io/jpeg/jpeg_frame.h"
#include "io/jpeg/scan_decoder.h"

namespace stoker {

// The coefficients of one component, in blocks from the left to the right and from the top to the
// bottom. A value that refers to memory of Coefficients.
struct CoefficientPlane {
  // 64 per block, in the scan's order; aligned to 64 bytes.
  int16_t* values = nullptr;
  // Per block: which coefficients but the first one are not 0. The one at position k of the scan's
  // order has bit 63 - k, so that the next one is the highest.
  uint64_t* nonzero = nullptr;
  // Blocks that the component has.
  size_t columns = 0;
  size_t rows = 0;
  // From a row of blocks to the next: whole MCUs.
  size_t stride = 0;
};

// All coefficients of an image, which the scans of a progressive file make out one after the other.
// One thread at a time; keeps its memory. Needs AVX2.
class Coefficients {
 public:
  // All of them 0. Throws std::bad_alloc.
  void assign(const JpegFrame& frame);
  const CoefficientPlane& plane(size_t component) const { return planes_[component]; }
  // The samples of some MCUs, into `planes` as ScanDecoder::decode() fills them. False: a
  // coefficient is one that no encoder writes, or hardly any, and the planes' contents are
  // unspecified.
  bool to_samples(const JpegFrame& frame, const McuRect& needed, const JpegPlanes& planes) const;

 private:
  const InverseDcts inverse_dcts_ = best_inverse_dcts();
  std::array<CoefficientPlane, 3> planes_;
  Buffer values_;
  Buffer nonzero_;
};

}  // namespace stoker
