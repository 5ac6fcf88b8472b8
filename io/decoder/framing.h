#pragma once

#include <cstdint>
#include <optional>

#include "io/core/sample_spec.h"
#include "io/core/system/memory.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/jpeg_header.h"
#include "io/decoder/pixels.h"
#include "io/decoder/transform.h"

namespace stoker {

// What the loader leaves to the device. resize: crop, mirroring, turning, resizing and
// normalisation. decode: these and the decoding.
enum class OnDevice { nothing, resize, decode };
EnumNames<OnDevice> enum_names(OnDevice);

// The options of decoders that can hand out frames (io/core/sample_spec.h). A value. With
// on_device: nothing they are those of any decoder.
struct FramedOptions : ImageOptions {
  OnDevice on_device = OnDevice::nothing;
  // Of the files, with OnDevice::decode.
  double on_device_share = 1;
  // Capacity of a frame, header included.
  ByteSize frame{512u << 10};
  template <class V>
  void visit(V& v) {
    ImageOptions::visit(v);
    v("on_device", on_device,
      "Which work the device does. `resize`: the loader only decodes, and the device resizes. "
      "`decode`: the device decodes and resizes.");
    v("on_device_share", on_device_share,
      "With `on_device: decode`: the share of the files that the device decodes. The loader "
      "decodes "
      "the others, so that both work at once. Each file always goes the same way.",
      Limits{0, 1});
    v("frame", frame,
      "With `on_device`: the memory of one sample in a batch. An image that does not fit is "
      "resized by the loader.");
  }
  // Refuses colour jitter and float32 together with on_device, and a frame that is too small for a
  // finished sample. Error(ExitCode::config).
  void check(const Section& section) const;
  // Decoder::spec: with frames their capacity, a multiple of a header's size.
  SampleSpec spec() const;
  // Component<Decoder>::info.
  DecoderInfo info() const { return {augment.any(), on_device != OnDevice::nothing, output}; }
};

// How a decoder fills a frame. It asks take_encoded(), for_pixels() and for_sample() in this order
// and takes the first that is possible. Immutable; any thread. `frame` is the sample's place in the
// batch and belongs to the caller.
class Framing {
 public:
  // Copies the options.
  explicit Framing(const FramedOptions& options);

  // Does the decoder make frames at all?
  bool wanted() const { return capacity_ != 0; }

  // Leaves the decoding to the device. False: the device is not to decode this file, or cannot. It
  // cannot decode some kinds of JPEG (or they may hold RGB, as Adobe's do), a file that is larger
  // than the frame, or one whose end is missing.
  bool take_encoded(Bytes encoded, const JpegHeader& header, const SamplePlan& plan,
                    int64_t reduction, uint8_t* frame) const;
  // The frame of the pixels that the plan needs of an image of `width` x `height` pixels that is
  // decoded at 1/reduction. Empty: they do not fit, and the sample is resized by the loader.
  std::optional<FrameHeader> for_pixels(const SamplePlan& plan, int64_t width, int64_t height,
                                        int64_t reduction) const;
  // The frame of a sample that is ready.
  FrameHeader for_sample() const;

  // The frame holds all of the image, so that it may be decoded straight to pixels_of(frame).
  static bool is_whole(const FrameHeader& header);
  // The header belongs at the beginning of the place. Where pixels are written first and may fail,
  // it is put last.
  static void put_header(const FrameHeader& header, uint8_t* frame);
  // Where the pixels of a frame lie that a decoder fills.
  static uint8_t* pixels_of(uint8_t* frame) { return frame + kFrameHeader; }
  // Writes the header, then the pixels, row by row as `image` makes them.
  static void fill(const FrameHeader& header, PixelRows& image, uint8_t* frame);

 private:
  bool is_the_devices(Bytes encoded) const;

  const FramedOptions options_;
  const size_t capacity_;
};

// A frame -> the sample that the loader would have made, bit for bit, by the same resizer and
// codec. For devices without kernels of their own. One thread at a time; keeps its memory from
// frame to frame.
//
// A frame lies where the loader put it: its header (FrameHeader), then what the header says. It is
// not changed, and not referred to after the call.
class FrameReader {
 public:
  // Samples are size x size RGB pixels.
  explicit FrameReader(int64_t size);
  // Writes one sample. Throws BadSample: encoded data that turn out to be damaged.
  void read(const uint8_t* frame, uint8_t* out);

 private:
  JpegCodec codec_;
  Transform bilinear_;
  Transform antialias_;
  Buffer rgb_;
};

}  // namespace stoker
