#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "io/device/frame_math.h"

namespace stoker {

// The sample that the CUDA kernel makes of a frame: one call per filter and pixel, as its threads.
inline std::vector<uint8_t> kernels_sample(const uint8_t* frame, int size) {
  FrameHeader header;
  std::memcpy(&header, frame, sizeof header);
  const FrameAxis across = frame_axis(header, false, size), down = frame_axis(header, true, size);
  std::vector<uint8_t> out(static_cast<size_t>(size) * static_cast<size_t>(size) * 3);
  uint8_t* pixel = out.data();
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x, pixel += 3) {
      FrameTaps column, row;
      make_taps(across, header.transpose ? y : x, column);
      make_taps(down, header.transpose ? x : y, row);
      make_pixel(header, frame + header.offset, column, row, pixel);
    }
  }
  return out;
}

}  // namespace stoker
