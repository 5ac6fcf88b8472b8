#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/core/system/memory.h"
#include "io/jpeg/jpeg_frame.h"

// What the scans of a progressive file say of themselves (T.81, annex G).

namespace stoker {

// The header of one scan. A value.
struct ProgressiveScan {
  // Its components, by their place in the frame, ascending; the first `count` of each array count.
  size_t count = 0;
  std::array<size_t, 3> component{};
  std::array<size_t, 3> dc_table{};
  std::array<size_t, 3> ac_table{};
  // The coefficients of each block, first to last, in the scan's order.
  int first = 0;
  int last = 0;
  // Their bits from `high` - 1 down to `low`; high 0: all bits from the highest down to `low`.
  int high = 0;
  int low = 0;

  bool of_dc() const { return first == 0; }
  bool refines() const { return high != 0; }

  // `payload`: the SOS segment's. False: not a scan that libjpeg would decode in this file without
  // a warning, or an unusual one; the contents are unspecified then.
  bool assign(const JpegFrame& frame, Bytes payload);
};

// Which bits of which coefficients are known. One thread at a time.
class Progression {
 public:
  Progression() {
    for (auto& component : low_) component.fill(kUnknown);
  }
  // False: the scan does not go on from where those before it have stopped.
  bool take(const ProgressiveScan& scan);
  // Every bit is known. (If one is not, libjpeg smooths blocks.)
  bool complete(size_t components) const;

 private:
  static constexpr int8_t kUnknown = -1;
  // Per component and position: the lowest bit that is known.
  std::array<std::array<int8_t, 64>, 3> low_;
};

}  // namespace stoker
