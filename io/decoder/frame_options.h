#pragma once

#include <cstdint>

#include "io/decoder/options.h"

namespace stoker {

// What the loader leaves to the device. resize: crop, mirroring, turning, resizing and
// normalisation. decode: these and the decoding.
enum class OnDevice { nothing, resize, decode };
EnumNames<OnDevice> enum_names(OnDevice);

// The options of decoders that can hand out frames (io/core/frame_header.h). A value.
struct FramedOptions : ImageOptions {
  OnDevice on_device = OnDevice::nothing;
  ByteSize frame{512u << 10};
  template <class V>
  void visit(V& v) {
    ImageOptions::visit(v);
    v("on_device", on_device,
      "nothing; resize: the loader only decodes, the device resizes; decode: the device does both");
    v("frame", frame, "place of a sample for on_device; a larger image is resized by the loader");
  }
  // Refuses colour jitter and float32 together with on_device, and a frame that is too small for a
  // finished sample. Error(ExitCode::config).
  void check(const Section& section) const;
  SampleSpec spec() const;
  DecoderInfo info() const { return {augment.any(), on_device != OnDevice::nothing, output}; }
};

}  // namespace stoker
