#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// How a value of a sample is stored. uint8: levels of 0 to 255, rows of interleaved RGB (HWC), or
// of the one channel there is. float32: normalised values (io/decoder/normalise.h), one plane per
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
  size_t frame = 0;  // not 0: its place holds a frame (frame_header.h) of this capacity, in bytes
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
  size_t used(const uint8_t* place) const;
};

// The sum of SampleSpec::used over `count` places of a batch.
size_t used_bytes(const uint8_t* places, int64_t count, const SampleSpec& spec);

}  // namespace stoker
