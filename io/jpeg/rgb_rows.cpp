#include "io/jpeg/rgb_rows.h"

#if defined(__x86_64__)

#include <algorithm>
#include <iterator>

namespace stoker {
namespace {

constexpr size_t kAlignment = 64;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

uint8_t* aligned(uint8_t* at) {
  return at + (kAlignment - reinterpret_cast<uintptr_t>(at) % kAlignment) % kAlignment;
}

}  // namespace

RgbRows::RgbRows(const RgbKernels& kernels, const JpegPlanes& planes, int64_t first_column,
                 int64_t columns, Buffer& scratch)
    : PixelRows(planes.width, planes.height), kernels_(kernels), planes_(planes) {
  const int64_t end = std::min(first_column + columns, planes.width);
  first_group_ = static_cast<size_t>(first_column) / kGroupPixels;
  end_group_ = round_up(static_cast<size_t>(end), kGroupPixels) / kGroupPixels;
  const size_t line = end_group_ * kGroupValues * sizeof(int16_t);
  const size_t rgb = round_up(end_group_ * 3 * kGroupPixels + PixelView::kSlack, kAlignment);
  const size_t lines = planes.sampling == ChromaSampling::gray ? 0 : std::size(lines_);
  rgb_ = aligned(scratch.resize(kAlignment + rgb + lines * line));
  for (size_t i = 0; i < lines; ++i) {
    lines_[i].values = reinterpret_cast<int16_t*>(rgb_ + rgb + i * line);
  }
}

const uint8_t* RgbRows::row(int64_t y) {
  const JpegPlane& luma = planes_.planes[0];
  const uint8_t* samples = luma.data + static_cast<size_t>(y) * luma.stride;
  if (planes_.sampling == ChromaSampling::gray) {
    kernels_.gray_to_rgb(samples, first_group_, end_group_, rgb_);
    return rgb_;
  }
  int64_t near = y, far = y;
  if (planes_.sampling == ChromaSampling::s420) {
    near = y / 2;
    far = std::clamp<int64_t>(y % 2 == 0 ? near - 1 : near + 1, 0, planes_.planes[1].height - 1);
  }
  const int16_t* far_line = chroma_line(far);
  kernels_.ycc_to_rgb(samples, chroma_line(near), far_line, first_group_, end_group_, rgb_);
  return rgb_;
}

const int16_t* RgbRows::chroma_line(int64_t row) {
  ChromaLine& line = lines_[row % 2];
  if (line.row == row) return line.values;
  const JpegPlane &cb = planes_.planes[1], &cr = planes_.planes[2];
  const ChromaRow samples{cb.data + static_cast<size_t>(row) * cb.stride,
                          cr.data + static_cast<size_t>(row) * cr.stride,
                          static_cast<size_t>(cb.width)};
  kernels_.filter_chroma(planes_.sampling, samples, first_group_, end_group_, line.values);
  line.row = row;
  return line.values;
}

}  // namespace stoker

#endif
