#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stoker {

// A frame: one sample that the loader has only half made, for a device that does the rest. Its
// place in the batch has a fixed capacity and holds this header and what it names behind it.
// Compiled for CUDA, too, as all of this header is: as C++17.

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

// How a value of a sample is stored. uint8: levels of 0 to 255, rows of interleaved RGB (HWC), or
// of the one channel there is. float32: normalised values (io/decoder/pixels.h), one plane per
// channel (CHW).
enum class PixelType { uint8, float32 };

// Shape and type of one decoded sample in its place of a batch, without padding: the same for all
// samples of a run. The decoder gives it; the loader allocates batches by it, and the device reads
// them by it. Sizes are in pixels. A value; any thread.
struct SampleSpec {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;
  PixelType type = PixelType::uint8;
  size_t frame = 0;  // not 0: its place holds a frame (FrameHeader) of this capacity, in bytes
  // Bytes of the target that follows the values in the same place: uint8 [height, width], the class
  // of each pixel. 0: the sample's target is its label.
  size_t target = 0;
  // Bytes of its values alone.
  size_t value_bytes() const {
    const auto values = static_cast<size_t>(height * width * channels);
    return type == PixelType::float32 ? values * sizeof(float) : values;
  }
  // Bytes of one place: the distance from a sample to the next.
  size_t bytes() const { return frame != 0 ? frame : value_bytes() + target; }
  // How many bytes count in this place: all, or the frame's header and what it says. Digests,
  // copies and their metrics cover these only.
  size_t used(const uint8_t* place) const {
    if (frame == 0) return bytes();
    FrameHeader header;
    std::memcpy(&header, place, sizeof header);
    return kFrameHeader + header.bytes;
  }
};

// The sum of SampleSpec::used over `count` places of a batch.
inline size_t used_bytes(const uint8_t* places, int64_t count, const SampleSpec& spec) {
  const auto samples = static_cast<size_t>(count);
  if (spec.frame == 0) return samples * spec.bytes();
  size_t bytes = 0;
  for (size_t i = 0; i < samples; ++i) bytes += spec.used(places + i * spec.bytes());
  return bytes;
}

}  // namespace stoker
