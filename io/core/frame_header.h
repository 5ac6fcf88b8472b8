#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

// A frame: one sample that the loader has only half made, for a device that does the rest. Its
// place in the batch has a fixed capacity and holds this header and what it names behind it.
// Compiled for CUDA, too.

namespace stoker {

// What lies behind the header: decoded pixels of the crop, or the JPEG file itself.
enum class FrameKind : uint32_t { pixels, jpeg };

// All that is left to do, in whole numbers, so that the device cannot come to another geometry:
// (decode,) cut `crop` out of the image, mirror, resize to the sample's size, swap the axes.
// A value; every byte is set, because digests cover it.
struct FrameHeader {
  FrameKind kind = FrameKind::pixels;
  uint32_t bytes = 0;  // in use behind the header
  // The image as it was decoded (kind jpeg: as it would be): the stored one at 1/reduction.
  int32_t image_width = 0;
  int32_t image_height = 0;
  // pixels: the part of that image which is here, rows of interleaved RGB without padding.
  // jpeg: 0, 0 and the size of the image as stored.
  int32_t x = 0;
  int32_t y = 0;
  int32_t width = 0;
  int32_t height = 0;
  // In pixels of the image as stored (reduction 1).
  int32_t crop_x = 0;
  int32_t crop_y = 0;
  int32_t crop_width = 0;
  int32_t crop_height = 0;
  uint8_t reduction = 1;
  uint8_t flip_x = 0;
  uint8_t flip_y = 0;
  uint8_t transpose = 0;
  uint8_t antialias = 0;  // ResizeMethod
  uint8_t unused[3] = {};
  // Where the bytes start, counted from this header's own address.
  uint64_t offset = 0;
};

static_assert(sizeof(FrameHeader) == 64 && std::is_trivially_copyable_v<FrameHeader>);

// Bytes of the header at the begin of a frame's place; what FrameHeader::bytes counts lies behind
// it.
constexpr size_t kFrameHeader = sizeof(FrameHeader);

}  // namespace stoker
