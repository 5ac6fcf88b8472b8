#include "io/decoder/jpeg/baseline_decoder.h"

#include <algorithm>
#include <array>
#include <optional>

#if defined(__x86_64__)
#include "io/decoder/jpeg/rgb_rows.h"
#include "io/decoder/jpeg/scan_decoder.h"
#endif

namespace stoker {

#if defined(__x86_64__)
namespace {

// Narrower images are upsampled by other rules.
constexpr int64_t kMinWidth = 16;
// Vector code reads samples beside a row and does not use them.
constexpr size_t kPlaneMargin = 64;
static_assert(kPlaneMargin >= RgbRows::kPlaneSlack);

// Upsampled chroma depends on the samples beside it, which may lie in the next MCU.
McuRect mcus_of(const Rect& needed, const JpegFrame& frame) {
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

class Avx2BaselineDecoder final : public BaselineDecoder {
 public:
  PixelRows* decode(Bytes file, const JpegHeader& header, std::span<const JpegSegment> segments,
                    const Rect& needed) override {
    if (header.width < kMinWidth || !frame_.assign(header, segments)) return nullptr;
    if (!scan_.assign(file.subspan(header.first_scan), frame_.restart_interval != 0)) {
      return nullptr;
    }
    take_memory();
    if (!decoder_.decode(frame_, scan_, mcus_of(needed, frame_), planes_)) return nullptr;
    return &rows_.emplace(planes_, needed.x, needed.width, scratch_);
  }

 private:
  void take_memory() {
    const McuGrid grid = mcu_grid(frame_);
    const McuSize mcu = mcu_size(frame_.sampling);
    planes_ = {frame_.sampling, frame_.width, frame_.height, {}};
    for (size_t c = 0; c < frame_.components; ++c) {
      const size_t width = c == 0 ? mcu.width : 8, height = c == 0 ? mcu.height : 8;
      JpegPlane& plane = planes_.planes[c];
      plane.stride = grid.columns * width;
      const size_t samples = plane.stride * grid.rows * height;
      plane.data = memory_[c].resize(samples + 2 * kPlaneMargin) + kPlaneMargin;
      const auto shrink = [](int64_t size, size_t part, size_t whole) {
        return (size * static_cast<int64_t>(part) + static_cast<int64_t>(whole) - 1) /
               static_cast<int64_t>(whole);
      };
      plane.width = shrink(frame_.width, width, mcu.width);
      plane.height = shrink(frame_.height, height, mcu.height);
    }
  }

  JpegFrame frame_;
  ScanBytes scan_;
  ScanDecoder decoder_;
  JpegPlanes planes_;
  std::array<Buffer, 3> memory_;
  std::optional<RgbRows> rows_;
  Buffer scratch_;
};

}  // namespace

std::unique_ptr<BaselineDecoder> BaselineDecoder::create() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return nullptr;
  return std::make_unique<Avx2BaselineDecoder>();
}

#else

std::unique_ptr<BaselineDecoder> BaselineDecoder::create() { return nullptr; }

#endif

}  // namespace stoker
