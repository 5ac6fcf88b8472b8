#include "io/storage/emulated/tier_layout.h"

#include <algorithm>

#include "io/core/random.h"

namespace stoker {

void TierLayout::check(const Section& section) const {
  if (stripe_count > stripes) section.fail("stripe_count", "must be at most stripes");
  if (stripe_bytes.bytes == 0) section.fail("stripe_bytes", "must be more than 0");
}

TierParts::TierParts(const TierLayout& layout, const TierOperation& operation)
    : operation_(operation),
      devices_(static_cast<uint64_t>(layout.stripes)),
      width_(static_cast<uint64_t>(layout.stripe_count)) {
  const uint64_t stripe = layout.stripe_bytes.bytes;
  count_ = std::min(width_, std::max<uint64_t>(1, (operation.bytes + stripe - 1) / stripe));
  first_ = devices_ == 1 ? 0 : scramble(operation.object + kGoldenGamma) % devices_;
  at_ = operation.offset / stripe % width_;
}

size_t TierParts::device(uint64_t part) const {
  return static_cast<size_t>((first_ + (at_ + part) % width_) % devices_);
}

TierOperation TierParts::operator[](uint64_t part) const {
  TierOperation own = operation_;
  own.bytes = operation_.bytes * (part + 1) / count_ - operation_.bytes * part / count_;
  own.offset = operation_.offset / width_;
  return own;
}

}  // namespace stoker
