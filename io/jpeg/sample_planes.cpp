#include "io/jpeg/sample_planes.h"

#if defined(__x86_64__)

#include <algorithm>

namespace stoker {
namespace {

// Vector code reads samples beside a row and does not use them.
constexpr size_t kSampleMargin = 64;
static_assert(kSampleMargin >= RgbRows::kPlaneSlack);
// So that the blocks of a batch share few cache lines with others.
constexpr size_t kCacheLine = 64;

// Narrower images are upsampled by other rules.
constexpr int64_t kMinWidth = 16;

int64_t reduced(int64_t size, int64_t reduction) { return (size + reduction - 1) / reduction; }

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

const JpegPlanes* SamplePlanes::assign(const JpegFrame& frame, int64_t reduction) {
  if (frame.width < kMinWidth * reduction) return nullptr;
  if (reduction != 1 && frame.sampling == ChromaSampling::s422) return nullptr;
  // Where it can, libjpeg makes smaller chroma by a larger transform, and then upsamples nothing.
  const bool whole_chroma = reduction != 1 && frame.sampling == ChromaSampling::s420;
  reduction_ = reduction;
  planes_ = {whole_chroma ? ChromaSampling::s444 : frame.sampling,
             reduced(frame.width, reduction),
             reduced(frame.height, reduction),
             {}};
  const McuGrid grid = mcu_grid(frame);
  const McuSize mcu = mcu_size(frame.sampling);
  for (size_t c = 0; c < frame.components; ++c) {
    const McuSize own = c == 0 ? mcu : McuSize{};
    JpegPlane& plane = planes_.planes[c];
    plane.side = static_cast<size_t>(8 / reduction) * (c != 0 && whole_chroma ? 2 : 1);
    plane.stride = rounded_up(grid.columns * own.width / 8 * plane.side, kCacheLine);
    const size_t samples = plane.stride * grid.rows * own.height / 8 * plane.side;
    uint8_t* const memory = memory_[c].resize(samples + 3 * kSampleMargin) + kSampleMargin;
    plane.data = memory + -reinterpret_cast<uintptr_t>(memory) % kCacheLine;
    const auto shrink = [&](int64_t size, size_t part, size_t whole) {
      return reduced(size * static_cast<int64_t>(part * plane.side),
                     static_cast<int64_t>(whole * 8));
    };
    plane.width = shrink(frame.width, own.width, mcu.width);
    plane.height = shrink(frame.height, own.height, mcu.height);
  }
  return &planes_;
}

PixelRows* SamplePlanes::rows(const Rect& needed) {
  const int64_t first = needed.x / reduction_;
  const int64_t end = reduced(needed.x + needed.width, reduction_);
  return &rows_.emplace(kernels_, planes_, first, end - first, scratch_);
}

}  // namespace stoker

#endif
