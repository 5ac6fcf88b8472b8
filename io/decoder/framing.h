#pragma once

#include <cstdint>
#include <optional>

#include "io/core/memory.h"
#include "io/core/frame_header.h"
#include "io/decoder/frame_options.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/pixel_rows.h"
#include "io/decoder/transform.h"

namespace stoker {

// How a decoder fills a frame: asked in this order, the first that is possible. Immutable; any
// thread.
class Framing {
 public:
  explicit Framing(const FramedOptions& options);

  bool wanted() const { return capacity_ != 0; }

  // Leaves the decoding to the device. False: it is not to, or cannot: kinds of JPEG that GPUs do
  // not decode (or that may hold RGB, as Adobe's do), a file that is larger than the frame, or of
  // which the end is missing.
  bool take_encoded(Bytes encoded, const JpegHeader& header, const SamplePlan& plan,
                    int64_t reduction, uint8_t* frame) const;
  // The frame of the pixels that the plan needs of an image of `width` x `height` pixels that is
  // decoded at 1/reduction. Empty: they do not fit, and the sample is resized by the loader.
  std::optional<FrameHeader> for_pixels(const SamplePlan& plan, int64_t width, int64_t height,
                                        int64_t reduction) const;
  // The frame of a sample that is ready.
  FrameHeader for_sample() const;

  // All of the image is in the frame, so that it may be decoded to pixels_of(frame) at once.
  static bool is_whole(const FrameHeader& header);
  static void put_header(const FrameHeader& header, uint8_t* frame);
  static uint8_t* pixels_of(uint8_t* frame) { return frame + kFrameHeader; }
  // Header and pixels, which are made as they are asked for.
  static void fill(const FrameHeader& header, PixelRows& image, uint8_t* frame);

 private:
  const FramedOptions options_;
  const size_t capacity_;
};

}  // namespace stoker
