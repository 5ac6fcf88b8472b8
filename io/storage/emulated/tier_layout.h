#pragma once

#include <cstddef>
#include <cstdint>

#include "io/core/config/config.h"
#include "io/storage/emulated/tier_device.h"

namespace stoker {

// The devices of a tier, and how objects lie on them: on Lustre, object storage targets and the
// striping of files. A value.
struct TierLayout {
  int64_t stripes = 1;
  int64_t stripe_count = 1;
  ByteSize stripe_bytes{1 << 20};

  template <class V>
  void visit(V& v) {
    v("stripes", stripes,
      "Number of devices, each with these figures. Objects are dealt out to them by their names.",
      Limits{1, 100000});
    v("stripe_count", stripe_count, "Number of devices over which one object is spread.",
      Limits{1, 100000});
    v("stripe_bytes", stripe_bytes,
      "How many bytes of an object lie on one device before the next one follows.");
  }
  void check(const Section& section) const;
};

// What an operation is to the single devices of a tier: as many parts of it at once as it has
// stripes, and as the object has devices. A value; refers to nothing.
class TierParts {
 public:
  TierParts(const TierLayout& layout, const TierOperation& operation);

  // At least 1.
  uint64_t size() const { return count_; }
  // The number of the part's device, from 0 to layout.stripes - 1.
  size_t device(uint64_t part) const;
  TierOperation operator[](uint64_t part) const;

 private:
  const TierOperation operation_;
  const uint64_t devices_;
  const uint64_t width_;  // devices of the object
  uint64_t count_;
  uint64_t first_;  // of its devices
  uint64_t at_;     // the first that the operation is on, behind that
};

}  // namespace stoker
