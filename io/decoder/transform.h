#pragma once

#include <cstdint>

#include "io/core/system/memory.h"
#include "io/decoder/augment.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/resize.h"

namespace stoker {

// Turns a plan for the upright image into one for the stored image of `width` x `height` pixels
// with this EXIF orientation (1 to 8). Nothing is rotated at full size: mirroring is free in the
// resizer, and only the sample's axes are swapped. A pure function; any thread.
SamplePlan orient(SamplePlan plan, int orientation, int64_t width, int64_t height);

// What all decoders have in common behind the decoding: stored pixels -> sample in the slot. One
// thread at a time; part of a DecoderSession. Keeps its memory.
class Transform {
 public:
  // `store`: where resized pixels go; streamed where nobody reads them soon.
  explicit Transform(const ImageOptions& options, Store store = Store::streamed);

  // Checks the limits (BadSample: too_large) and plans. Call it before memory is taken for the
  // image. A pure function of its arguments and the options.
  SamplePlan plan(const DecodeMode& mode, int64_t width, int64_t height, int orientation) const;
  // The image is the sample as it stands: decode it into the slot, then finish() is all that is
  // left. Never where the output is float32.
  bool is_copy(const SamplePlan& plan, int64_t width, int64_t height) const;
  // Fills the slot, `out`, from the plan's image, which was decoded at 1/reduction: 1, 2, 4 or 8.
  // Every row of the crop is asked for at most once, in ascending order.
  void apply(const SamplePlan& plan, PixelRows& image, int64_t reduction, uint8_t* out);
  // What is left when the slot holds the pixels already: the colours. Only where output is uint8.
  void finish(const SamplePlan& plan, uint8_t* out);

 private:
  // The image's pixels are the sample's, in their order.
  bool is_unchanged(const SamplePlan& plan, int64_t width, int64_t height) const;
  void apply_to_pixels(const SamplePlan& plan, PixelRows& image, const Geometry& geometry,
                       uint8_t* out);
  const ImageOptions options_;
  const Store store_;
  Resizer resizer_;
  Buffer scratch_;
  // The pixels of a sample that is normalised only after other changes.
  Buffer pixels_;
};

}  // namespace stoker
