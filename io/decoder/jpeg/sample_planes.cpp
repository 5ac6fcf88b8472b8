#include "io/decoder/jpeg/sample_planes.h"

#if defined(__x86_64__)

#include <algorithm>

#include "io/decoder/jpeg/rgb_rows.h"

namespace stoker {
namespace {

// Vector code reads samples beside a row and does not use them.
constexpr size_t kSampleMargin = 64;
static_assert(kSampleMargin >= RgbRows::kPlaneSlack);

}  // namespace

// Upsampled chroma depends on the samples beside it, which may lie in the next MCU.
McuRect SamplePlanes::mcus_of(const Rect& needed, const JpegFrame& frame) {
  const auto [width, height] = mcu_size(frame.sampling);
  const McuGrid grid = mcu_grid(frame);
  const auto first = [](int64_t pixel, size_t mcu) {
    return static_cast<size_t>(std::max<int64_t>(pixel - 2, 0)) / mcu;
  };
  const auto behind = [](int64_t pixel, size_t mcu, size_t count) {
    return std::min((static_cast<size_t>(pixel) + 2 + mcu - 1) / mcu, count);
  };
  return {first(needed.x, width), behind(needed.x + needed.width, width, grid.columns),
          first(needed.y, height), behind(needed.y + needed.height, height, grid.rows)};
}

const JpegPlanes& SamplePlanes::assign(const JpegFrame& frame, ChromaSampling sampling,
                                       const std::array<size_t, 3>& sides, int64_t reduction) {
  const McuGrid grid = mcu_grid(frame);
  const McuSize mcu = mcu_size(frame.sampling);
  const auto shrink = [](int64_t size, size_t part, size_t whole) {
    const size_t samples = static_cast<size_t>(size) * part;
    return static_cast<int64_t>((samples + whole - 1) / whole);
  };
  planes_ = {sampling,
             (frame.width + reduction - 1) / reduction,
             (frame.height + reduction - 1) / reduction,
             {}};
  for (size_t c = 0; c < frame.components; ++c) {
    const McuSize own = c == 0 ? mcu : McuSize{};
    JpegPlane& plane = planes_.planes[c];
    plane.stride = grid.columns * own.width / 8 * sides[c];
    const size_t samples = plane.stride * grid.rows * own.height / 8 * sides[c];
    plane.data = memory_[c].resize(samples + 2 * kSampleMargin) + kSampleMargin;
    plane.width = shrink(frame.width, own.width * sides[c], mcu.width * 8);
    plane.height = shrink(frame.height, own.height * sides[c], mcu.height * 8);
  }
  return planes_;
}

}  // namespace stoker

#endif
